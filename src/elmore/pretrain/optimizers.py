"""Gradients in, new weights out: Adagrad as published, and AdamW.

Both keep what they remember in tensors beside the weights. A weight whose gradient has few rows
(the softmax) has only these rows changed, and their memory with them, as TensorFlow does.
"""

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from elmore.engine.threads import TwoThreads
from elmore.pretrain.config import TrainingConfig

_CHUNK = 2**16  # numbers that are updated at once: they stay in the processor's cache


class Optimizer:
    """Changes weights by the rule that the config names."""

    def __init__(self, weights: dict[str, Tensor], config: TrainingConfig) -> None:
        self.config = config
        self.weights = weights
        # TensorFlow's Adagrad starts at 1: its first steps are as large as the gradient.
        names = ("squares",) if config.optimizer == "adagrad" else ("mean", "variance")
        start = 1.0 if config.optimizer == "adagrad" else 0.0
        self.memory = {
            weight: {name: torch.full_like(value, start) for name in names}
            for weight, value in weights.items()
        }
        self._threads = TwoThreads()

    def update(
        self, name: str, gradient: Tensor, rows: Tensor | None, *, number: int, rate: float
    ) -> None:
        """Make update `number` (from 0) of a weight, of all of it or of some rows."""
        weight, memory = self.weights[name], self.memory[name]
        rule = self._adagrad if self.config.optimizer == "adagrad" else self._adamw
        if rows is not None:
            some = weight[rows]
            remembered = {key: value[rows] for key, value in memory.items()}
            rule(some, gradient, **remembered, number=number, rate=rate)
            weight[rows] = some
            for key, value in memory.items():
                value[rows] = remembered[key]
            return

        flat, change = weight.view(-1), gradient.view(-1)

        def part(start: int, stop: int) -> None:
            for place in range(start, stop, _CHUNK):
                some = slice(place, min(place + _CHUNK, stop))
                remembered = {key: value.view(-1)[some] for key, value in memory.items()}
                rule(flat[some], change[some], **remembered, number=number, rate=rate)

        middle = weight.numel() // 2
        halves = ((0, middle), (middle, weight.numel()))
        self._threads.all([partial(part, *half) for half in halves])

    def state(self) -> Iterator[tuple[str, Tensor]]:
        """Return all that is remembered, by name."""
        for weight, memory in self.memory.items():
            for key, value in memory.items():
                yield f"{weight}.{key}", value

    def _adagrad(
        self,
        weight: Tensor,
        gradient: Tensor,
        *,
        squares: Tensor,
        number: int,
        rate: float,
    ) -> None:
        squares.addcmul_(gradient, gradient)
        weight.addcdiv_(gradient, squares.sqrt(), value=-rate)

    def _adamw(
        self, weight: Tensor, gradient: Tensor, *, mean: Tensor, variance: Tensor, number: int,
        rate: float,
    ) -> None:  # fmt: skip
        mean.lerp_(gradient, 1 - 0.9)
        variance.mul_(0.999).addcmul_(gradient, gradient, value=1 - 0.999)
        unbiased = (variance / (1 - 0.999 ** (number + 1))).sqrt_().add_(1e-8)
        weight.mul_(1 - rate * self.config.weight_decay)
        weight.addcdiv_(mean, unbiased, value=-rate / (1 - 0.9 ** (number + 1)))


def learning_rate(config: TrainingConfig, number: int, n_updates: int) -> float:
    """Return the learning rate of update `number` (from 0) of `n_updates`."""
    if number < config.warmup_steps:
        return config.learning_rate * (number + 1) / config.warmup_steps
    done = (number - config.warmup_steps) / max(1, n_updates - config.warmup_steps)
    left = {"none": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}
    return config.learning_rate * left[config.decay]
