"""A text for the doctor to look at."""

import random
from pathlib import Path

import pytest


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Three hundred sentences of fifty words, the first ones more often."""
    rng = random.Random(1)
    sentences = [
        [f"w{int(50 * rng.random() ** 2)}" for _ in range(rng.randrange(3, 12))] for _ in range(300)
    ]
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{' '.join(words)}\n" for words in sentences))
    return path
