"""A small corpus of several files, and the bytes of what was made from it."""

import gzip
import random
from pathlib import Path

BLOCK_BYTES = 700


def write_corpus(folder: Path, n_lines: int = 60) -> list[Path]:
    """Write a text and a compressed one, which make about eight blocks together."""
    rng = random.Random(0)
    words = ("the", "bank", "of", "river", "은행", ".", "money", "boats")
    lines = [
        " ".join(rng.choice(words) for _ in range(rng.choice([0, 1, 5, 9, 20])))
        for _ in range(2 * n_lines)
    ]
    paths = [folder / "a.txt", folder / "b.txt.gz"]
    paths[0].write_text("\n".join(lines[:n_lines]))
    paths[1].write_bytes(gzip.compress("\n".join(lines[n_lines:]).encode()))
    return paths


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return the content of each file of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
