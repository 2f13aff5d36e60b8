"""How the processes of one training run, on one machine or on many, agree with each other.

torchrun starts them and says in the environment who each is. By itself a process is alone, and
nothing here does anything. Each has its share of the batch's streams and the same weights; what is
exchanged is gradients, and of the softmax only the rows that were touched.
"""

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from elmore.errors import ConfigError

_PATIENCE = timedelta(days=1)  # the others wait while the first prepares the corpus


class ProcessGroup:
    """This process among all."""

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        on_gpu = torch.cuda.is_available()
        self.device = torch.device("cpu")
        if on_gpu:
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
            torch.cuda.set_device(self.device)
        if self.size > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if on_gpu else "gloo", timeout=_PATIENCE)

    @property
    def is_first(self) -> bool:
        """Whether this process writes the files."""
        return self.rank == 0

    def streams(self, batch_size: int) -> slice:
        """Return which streams of the batch are read here."""
        if batch_size % self.size:
            raise ConfigError(
                f"batch_size is {batch_size}; expected a multiple of the {self.size} processes"
            )
        share = batch_size // self.size
        return slice(self.rank * share, (self.rank + 1) * share)

    def sum(self, values: Tensor) -> Tensor:
        """Add up a tensor of all processes, in place."""
        if self.size > 1:
            dist.all_reduce(values)
        return values

    def gather(self, values: Tensor, dim: int = 0) -> Tensor:
        """Return the tensors of all processes, of one shape each, put together."""
        if self.size == 1:
            return values
        parts = [torch.empty_like(values) for _ in range(self.size)]
        dist.all_gather(parts, values.contiguous())
        return torch.cat(parts, dim=dim)

    def wait(self) -> None:
        """Wait until all have come here."""
        if self.size > 1:
            dist.barrier()

    def close(self) -> None:
        """Part."""
        if dist.is_initialized():
            dist.destroy_process_group()
