"""Dropout is a function of a key and of a place."""

import numpy as np
import pytest

from elmore.engine.training.dropout import NO_DROPOUT, Dropout


def ones(n: int) -> np.ndarray:
    return np.ones(n, np.float32)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_a_share_is_dropped_and_the_mean_stays(rate: float) -> None:
    x = ones(200_000)
    Dropout.seeded(rate, 1, 2, 3).drop(x)
    assert set(np.unique(x)) == {np.float32(0), np.float32(1 / (1 - rate))}
    assert (x == 0).mean() == pytest.approx(rate, abs=0.005)
    correlation = np.corrcoef(x[1:], x[:-1])[0, 1]
    assert abs(correlation) < 0.01


def test_any_part_can_be_drawn_by_itself() -> None:
    dropout, x, part = Dropout.seeded(0.3, 7), ones(1000), ones(100)
    dropout.drop(x)
    dropout.drop(part, place=500)
    np.testing.assert_array_equal(part, x[500:600])


def test_keys_draw_apart() -> None:
    drawn = []
    for numbers in ((1, 0), (1, 1), (2, 0)):
        x = ones(100_000)
        Dropout.seeded(0.5, *numbers).drop(x)
        drawn.append(x)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(drawn[first], drawn[second])[0, 1]) < 0.015


def test_no_dropout_changes_nothing() -> None:
    x = ones(50)
    NO_DROPOUT.drop(x)
    np.testing.assert_array_equal(x, ones(50))
