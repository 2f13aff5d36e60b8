"""Gradients in, new weights out: Adagrad as published, and AdamW.

Both keep their state in tensors of the shapes of the weights. Of a weight with a sparse gradient
(the softmax, the word table) only the rows of the gradient change, with their state, as in
TensorFlow.
"""

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from elmore.engine.threads import TwoThreads
from elmore.pretrain.config import TrainingConfig

_CHUNK = 2**16  # values updated at once: they stay in the processor's cache


class Optimizer:
    """Updates weights by the rule that the config names."""

    def __init__(self, weights: dict[str, Tensor], config: TrainingConfig) -> None:
        self.config = config
        self.weights = weights
        # TensorFlow's Adagrad starts at 1: its first steps are as large as the gradient.
        names = ("squares",) if config.optimizer == "adagrad" else ("mean", "variance")
        start = 1.0 if config.optimizer == "adagrad" else 0.0
        self.states = {
            weight: {name: torch.full_like(value, start) for name in names}
            for weight, value in weights.items()
        }
        self._threads = TwoThreads()

    def update(
        self, name: str, gradient: Tensor, rows: Tensor | None, *, number: int, rate: float
    ) -> None:
        """Make update `number` (from 0) of a weight, of all of it or of some rows."""
        weight, state = self.weights[name], self.states[name]
        rule = self._adagrad if self.config.optimizer == "adagrad" else self._adamw
        if rows is not None:
            some = weight[rows]
            state_rows = {key: value[rows] for key, value in state.items()}
            rule(some, gradient, **state_rows, number=number, rate=rate)
            weight[rows] = some
            for key, value in state.items():
                value[rows] = state_rows[key]
            return

        flat, change = weight.view(-1), gradient.view(-1)

        def part(start: int, stop: int) -> None:
            for place in range(start, stop, _CHUNK):
                some = slice(place, min(place + _CHUNK, stop))
                chunk = {key: value.view(-1)[some] for key, value in state.items()}
                rule(flat[some], change[some], **chunk, number=number, rate=rate)

        middle = weight.numel() // 2
        halves = ((0, middle), (middle, weight.numel()))
        self._threads.all([partial(part, *half) for half in halves])

    def state(self) -> Iterator[tuple[str, Tensor]]:
        """Yield the state of the optimizer, by name."""
        for weight, state in self.states.items():
            for key, value in state.items():
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
    n_decay = n_updates - config.warmup_steps
    if config.decay_steps:
        n_decay = min(n_decay, config.decay_steps)
    done = max(0, number - (n_updates - n_decay)) / max(1, n_decay)
    left = {"none": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}
    return config.learning_rate * left[config.decay]
