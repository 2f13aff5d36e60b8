"""Weights move as torch's own optimizers move them."""

from typing import Any

import numpy as np
import pytest
import torch

from elmore.engine.parallel import n_threads, set_n_threads
from elmore.engine.training.optimizers import Optimizer

RATES = [0.3, 0.2, 0.1, 0.4, 0.2]
RULES: dict[str, dict[str, Any]] = {
    "adagrad": {"rule": "adagrad"},
    "adamw": {"rule": "adamw"},
    "adamw, decaying": {"rule": "adamw", "weight_decay": 0.1},
}


def gradients(*shape: int) -> list[np.ndarray]:
    random = np.random.default_rng(2)
    scales = (1.0, 1e-3, 30.0, 0.0, 1.0)
    return [(scale * random.standard_normal(shape)).astype(np.float32) for scale in scales]


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def peer(weight: torch.Tensor, options: dict[str, Any]) -> torch.optim.Optimizer:
    if options["rule"] == "adagrad":
        return torch.optim.Adagrad([weight], initial_accumulator_value=1.0, eps=0.0)
    return torch.optim.AdamW([weight], weight_decay=options.get("weight_decay", 0.0))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("rows", [None, [3, 0, 2, 1, 5, 4]])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_equal_to_torch(name: str, rows: list[int] | None, n: int) -> None:
    ours = weights(6, 37)
    theirs = torch.from_numpy(ours.copy()).requires_grad_()
    optimizer, expected = Optimizer({"w": ours}, **RULES[name]), peer(theirs, RULES[name])
    places = None if rows is None else np.array(rows, np.int32)
    threads = n_threads()
    set_n_threads(n)
    try:
        for number, (gradient, rate) in enumerate(zip(gradients(6, 37), RATES, strict=True)):
            before = ours.copy()
            some = gradient if places is None else gradient[places]
            optimizer.update("w", 4 * some, places, number=number, rate=rate, scale=0.25)
            theirs.grad = torch.from_numpy(gradient)
            expected.param_groups[0]["lr"] = rate
            expected.step()
            np.testing.assert_allclose(ours, theirs.detach(), atol=2e-6, rtol=1e-6)
            assert not np.array_equal(ours, before) or not gradient.any()
    finally:
        set_n_threads(threads)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("shape", [(6,), (6, 5)])
def test_rows_move_by_themselves(name: str, shape: tuple[int, ...]) -> None:
    weight = weights(*shape)
    before = weight.copy()
    some = before[[4, 1]]
    optimizer = Optimizer({"w": weight}, **RULES[name])
    alone = Optimizer({"w": some}, **RULES[name])
    rows = np.array([4, 1], np.int32)
    for number, (gradient, rate) in enumerate(zip(gradients(2, *shape[1:]), RATES, strict=True)):
        optimizer.update("w", gradient, rows, number=number, rate=rate)
        alone.update("w", gradient, number=number, rate=rate)
    np.testing.assert_array_equal(weight[[4, 1]], some)
    assert (weight[[4, 1]] != before[[4, 1]]).all()
    others = [0, 2, 3, 5]
    np.testing.assert_array_equal(weight[others], before[others])
    start = 1.0 if name == "adagrad" else 0.0
    for _, memory in optimizer.state():
        assert (memory[others] == start).all()
        assert (memory[[4, 1]] != start).all()
