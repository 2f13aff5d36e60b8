"""Data-parallel training: the processes of one run, on one machine or on several.

torchrun starts them and sets their ranks in the environment. Without it there is one process, and
nothing here has an effect. Each has its share of the batch's streams and the same weights;
gradients are summed over all, of the softmax only the rows that were touched. torch's gloo
exchanges the memory of NumPy's arrays.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from elmore.errors import ConfigError, ConnectionLostError
from elmore.extras import import_torch
from elmore.kernels.library import Array

_TIMEOUT = timedelta(days=1)  # the others wait while the first prepares the corpus


class ProcessGroup:
    """The processes of a run, as one of them sees it."""

    def __init__(self) -> None:
        self.rank, self.size = _number("RANK", "0"), _number("WORLD_SIZE", "1")
        if self.size > 1 and "RANK" not in os.environ:
            raise ConfigError(
                f"WORLD_SIZE is {self.size}, but RANK is not set; start several processes with "
                "torchrun, or unset WORLD_SIZE"
            )
        several = "a run of several processes"
        has_torch = self.size > 1 or find_spec("torch") is not None
        self._torch = import_torch(several) if has_torch else None
        self.device = "cpu"
        if self._torch is not None and self._torch.cuda.is_available():
            self.device = f"cuda:{_number('LOCAL_RANK', '0')}"
        if self.size > 1:
            self._distributed = import_module("torch.distributed")
            if not self._distributed.is_initialized():
                self._distributed.init_process_group("gloo", timeout=_TIMEOUT)

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def streams(self, batch_size: int) -> slice:
        """Return the streams of the batch that this process reads."""
        if batch_size % self.size:
            raise ConfigError(
                f"batch_size is {batch_size}; expected a multiple of the {self.size} processes"
            )
        share = batch_size // self.size
        return slice(self.rank * share, (self.rank + 1) * share)

    def sum(self, values: Array) -> Array:
        """Sum a contiguous array over all processes, in place."""
        if self.size > 1:
            assert values.flags.c_contiguous
            with _saying_who_left():
                self._distributed.all_reduce(self._tensor(values))
        return values

    def gather(self, values: Array, axis: int = 0) -> Array:
        """Concatenate the arrays of all processes, which have the same shape."""
        if self.size == 1:
            return values
        parts = [np.empty_like(values, order="C") for _ in range(self.size)]
        with _saying_who_left():
            self._distributed.all_gather(
                [self._tensor(part) for part in parts],
                self._tensor(np.ascontiguousarray(values)),
            )
        return np.concatenate(parts, axis=axis)

    def wait(self) -> None:
        """Wait for all processes."""
        if self.size > 1:
            with _saying_who_left():
                self._distributed.barrier()

    def close(self) -> None:
        """Leave the group."""
        if self.size > 1 and self._distributed.is_initialized():
            self._distributed.destroy_process_group()

    def _tensor(self, values: Array) -> Any:
        """Return a tensor in the memory of an array."""
        assert self._torch is not None
        return self._torch.from_numpy(values)


@contextmanager
def _saying_who_left() -> Iterator[None]:
    """Say in one sentence what a failed exchange means: the other end is gone."""
    try:
        yield
    except RuntimeError as error:
        (reason, *_) = str(error).splitlines()
        raise ConnectionLostError(
            f"another process of this run has ended, or its machine cannot be reached ({reason}); "
            "start the same command again on every machine to resume"
        ) from None


def _number(name: str, default: str) -> int:
    """Return a number that torchrun sets in the environment."""
    value = os.environ.get(name, default)
    if not value.isdecimal():
        raise ConfigError(f"the environment has {name}={value}; expected a number, or unset it")
    return int(value)
