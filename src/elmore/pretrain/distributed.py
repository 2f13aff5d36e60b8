"""Data-parallel training: the processes of one run, on one machine or on several.

torchrun starts them and sets their ranks in the environment. Without it there is one process, and
nothing here has an effect. Each has its share of the batch's streams and the same weights;
gradients are summed over all, of the softmax only the rows that were touched.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from elmore.errors import ConfigError, ConnectionLostError

_TIMEOUT = timedelta(days=1)  # the others wait while the first prepares the corpus


class ProcessGroup:
    """The processes of a run, as one of them sees it."""

    def __init__(self) -> None:
        self.rank, self.size, local_rank = (
            _number(name, default)
            for name, default in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"))
        )
        if self.size > 1 and "RANK" not in os.environ:
            raise ConfigError(
                f"WORLD_SIZE is {self.size}, but RANK is not set; start several processes with "
                "torchrun, or unset WORLD_SIZE"
            )
        on_gpu = torch.cuda.is_available()
        self.device = torch.device("cpu")
        if on_gpu:
            self.device = torch.device("cuda", local_rank)
            torch.cuda.set_device(self.device)
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if on_gpu else "gloo", timeout=_TIMEOUT)

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

    def sum(self, values: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place."""
        if self.size > 1:
            with _saying_who_left():
                dist.all_reduce(values)
        return values

    def gather(self, values: Tensor, dim: int = 0) -> Tensor:
        """Concatenate the tensors of all processes, which have the same shape."""
        if self.size == 1:
            return values
        parts = [torch.empty_like(values) for _ in range(self.size)]
        with _saying_who_left():
            dist.all_gather(parts, values.contiguous())
        return torch.cat(parts, dim=dim)

    def wait(self) -> None:
        """Wait for all processes."""
        if self.size > 1:
            with _saying_who_left():
                dist.barrier()

    def close(self) -> None:
        """Leave the group."""
        if dist.is_initialized():
            dist.destroy_process_group()


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
