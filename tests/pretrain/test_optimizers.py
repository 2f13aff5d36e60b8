"""Weights move as torch's own optimizers move them; learning rates rise and fall as asked."""

from typing import Any

import pytest
import torch
from torch import Tensor

from elmore.pretrain import optimizers
from elmore.pretrain.config import TrainingConfig
from elmore.pretrain.optimizers import Optimizer, learning_rate

RATES = [0.3, 0.2, 0.1, 0.4, 0.2]


def peer(weight: Tensor, config: TrainingConfig) -> torch.optim.Optimizer:
    if config.optimizer == "adagrad":
        return torch.optim.Adagrad([weight], initial_accumulator_value=1.0, eps=0.0)
    return torch.optim.AdamW([weight], weight_decay=config.weight_decay)


def gradients(*shape: int) -> list[Tensor]:
    torch.manual_seed(2)
    scales = (1.0, 1e-3, 30.0, 0.0, 1.0)
    return [scale * torch.randn(shape) for scale in scales]


CONFIGS: dict[str, dict[str, Any]] = {
    "adagrad": {"optimizer": "adagrad"},
    "adamw": {"optimizer": "adamw"},
    "adamw, decaying": {"optimizer": "adamw", "weight_decay": 0.1},
}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("rows", [None, [3, 0, 2, 1, 5, 4]])
def test_equal_to_torch(
    name: str, rows: list[int] | None, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimizers, "_CHUNK", 7)  # several, and the last not whole
    config = TrainingConfig(**CONFIGS[name])
    torch.manual_seed(1)
    ours = torch.randn(6, 5)
    theirs = ours.clone().requires_grad_()
    optimizer, expected = Optimizer({"w": ours}, config), peer(theirs, config)
    places = None if rows is None else torch.tensor(rows)
    for number, (gradient, rate) in enumerate(zip(gradients(6, 5), RATES, strict=True)):
        before = ours.clone()
        optimizer.update(
            "w", gradient if places is None else gradient[places], places, number=number, rate=rate
        )
        theirs.grad = gradient
        expected.param_groups[0]["lr"] = rate
        expected.step()
        torch.testing.assert_close(ours, theirs.detach(), atol=1e-6, rtol=1e-6)
        assert not torch.equal(ours, before) or not gradient.any()


@pytest.mark.parametrize("name", CONFIGS)
def test_rows_move_by_themselves(name: str) -> None:
    config = TrainingConfig(**CONFIGS[name])
    torch.manual_seed(1)
    weight = torch.randn(6, 5)
    before = weight.clone()
    some = before[[4, 1]].clone()
    optimizer, alone = Optimizer({"w": weight}, config), Optimizer({"w": some}, config)
    for number, (gradient, rate) in enumerate(zip(gradients(2, 5), RATES, strict=True)):
        optimizer.update("w", gradient, torch.tensor([4, 1]), number=number, rate=rate)
        alone.update("w", gradient, None, number=number, rate=rate)
    torch.testing.assert_close(weight[[4, 1]], some)
    assert (weight[[4, 1]] != before[[4, 1]]).all()
    assert torch.equal(weight[[0, 2, 3, 5]], before[[0, 2, 3, 5]])
    start = 1.0 if config.optimizer == "adagrad" else 0.0
    for _, memory in optimizer.state():
        assert (memory[[0, 2, 3, 5]] == start).all()
        assert (memory[[4, 1]] != start).all()


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
