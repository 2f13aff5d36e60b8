"""Gradients in, new weights out: Adagrad as published, and AdamW.

Both keep their state in arrays of the shapes of the weights. Of a weight with a sparse gradient
(the softmax, the word table) only the rows of the gradient change, with their state, as in
TensorFlow.
"""

import ctypes
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np

from elmore.engine.parallel import n_threads, run_all
from elmore.kernels.gradients import Rows
from elmore.kernels.library import Floats, address, kernels

STATES = {"adagrad": ("squares",), "adamw": ("mean", "variance")}
"""What each rule keeps of every weight."""

_pointer, _i64 = ctypes.c_void_p, ctypes.c_int64
_MEAN, _VARIANCE = 0.9, 0.999  # AdamW's decay rates, as in optimizers.h


class _OptimizerStruct(ctypes.Structure):
    """`Optimizer` of optimizers.h."""

    _fields_ = (
        ("n_rows", _i64),
        ("n", _i64),
        ("rows", _pointer),
        ("weight", _pointer),
        ("first", _pointer),
        ("second", _pointer),
        ("gradient", _pointer),
        ("scale", ctypes.c_float),
        ("rate", ctypes.c_float),
        ("unbias", ctypes.c_float),
        ("decay", ctypes.c_float),
    )


class Optimizer:
    """Updates contiguous weights of one or two dimensions, all rows or some."""

    def __init__(
        self,
        weights: Mapping[str, Floats],
        rule: Literal["adagrad", "adamw"],
        *,
        weight_decay: float = 0.0,
    ) -> None:
        self.weights, self.rule, self.weight_decay = weights, rule, weight_decay
        # TensorFlow's Adagrad starts at 1: its first steps are as large as the gradient.
        start = 1.0 if rule == "adagrad" else 0.0
        self.states = {
            weight: {name: np.full_like(value, start) for name in STATES[rule]}
            for weight, value in weights.items()
        }

    def state(self) -> Iterator[tuple[str, Floats]]:
        """Yield the state of the optimizer, by name."""
        for weight, state in self.states.items():
            for key, value in state.items():
                yield f"{weight}.{key}", value

    def update(
        self,
        name: str,
        gradient: Floats,
        rows: Rows | None = None,
        *,
        number: int,
        rate: float,
        scale: float = 1.0,
    ) -> None:
        """Make update `number` (from 0) of a weight, by `scale` times the gradient.

        With `rows`, which are distinct, those rows change alone.
        """
        weight = self.weights[name]
        states = [*self.states[name].values()]
        if rows is None:
            assert gradient.shape == weight.shape
            size = max(1, -(-weight.size // n_threads()))
            flat = [x.reshape(-1) for x in (weight, *states, gradient)]
            parts = [
                [x[start : start + size] for x in flat] for start in range(0, weight.size, size)
            ]
            run_all([
                partial(self._update, *part, None, n_rows=1, number=number, rate=rate, scale=scale)
                for part in parts
            ])  # fmt: skip
            return
        assert gradient.shape == (len(rows), *weight.shape[1:])
        assert not len(rows) or (rows.min() >= 0 and rows.max() < len(weight))
        size = max(1, -(-len(rows) // n_threads()))
        run_all([
            partial(
                self._update, weight, *states, gradient[start : start + size],
                rows[start : start + size], n_rows=len(rows[start : start + size]), number=number,
                rate=rate, scale=scale,
            )
            for start in range(0, len(rows), size)
        ])  # fmt: skip

    def _update(self, *arrays: Any, n_rows: int, number: int, rate: float, scale: float) -> None:
        weight, *states, gradient, rows = arrays
        assert all(x.flags.c_contiguous for x in (weight, *states, gradient))
        is_adamw = self.rule == "adamw"
        struct = _OptimizerStruct(
            n_rows=n_rows,
            n=gradient.size // n_rows if n_rows else 0,
            rows=address(rows, np.int32),
            weight=address(weight, np.float32),
            first=address(states[0], np.float32),
            second=address(states[-1], np.float32),
            gradient=address(gradient, np.float32),
            scale=scale,
            rate=rate / (1 - _MEAN ** (number + 1)) if is_adamw else rate,
            unbias=1 / (1 - _VARIANCE ** (number + 1)),
            decay=1 - rate * self.weight_decay,
        )
        getattr(kernels(), self.rule)(ctypes.byref(struct))
