"""Learning rates rise and fall as asked."""

from typing import Any

import pytest

from elmore.pretrain.config import TrainingConfig
from elmore.pretrain.learning_rate import learning_rate


def rates(n_updates: int, **changes: Any) -> list[float]:
    config = TrainingConfig(learning_rate=0.8, **changes)
    return [learning_rate(config, number, n_updates) for number in range(n_updates)]


def test_learning_rates() -> None:
    assert rates(3) == [0.8] * 3
    assert rates(4, warmup_steps=4) == pytest.approx([0.2, 0.4, 0.6, 0.8])
    assert rates(2, warmup_steps=4) == pytest.approx([0.2, 0.4])
    assert rates(4, decay="linear") == pytest.approx([0.8, 0.6, 0.4, 0.2])
    assert rates(6, decay="linear", warmup_steps=2) == pytest.approx([0.4, 0.8, 0.8, 0.6, 0.4, 0.2])
    assert rates(4, decay="cosine")[0::2] == pytest.approx([0.8, 0.4])
    assert rates(6, decay="linear", decay_steps=2, warmup_steps=2) == pytest.approx(
        [0.4, 0.8, 0.8, 0.8, 0.8, 0.4]
    )
    assert rates(4, decay="linear", decay_steps=9) == rates(4, decay="linear")
    falling = rates(50, decay="cosine", warmup_steps=5)[5:]
    assert falling == sorted(falling, reverse=True)
    assert 0 < falling[-1] < 0.001
    assert 0.798 < falling[1] < 0.8
