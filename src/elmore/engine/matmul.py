"""The matrix products of inference and training, in float32 or in bfloat16.

bfloat16 here means: both operands are rounded to it, sums are in float32. A processor with bfloat16
units does that twice as fast or more; elsewhere the operands are rounded and multiplied as float32,
which gives the same values without the speed.

In a product a @ b, b is converted already, because it is mostly a weight that is used many times.
The functions are in the part of Python that TorchScript compiles (lstm_steps.py).

Shapes: a (N, in), b (in, out), result (N, out).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from elmore.bilm_config import Precision


def add_product(result: Tensor, a: Tensor, b: Tensor, rounds: bool) -> Tensor:
    """Add a @ b to `result`, and return it; `rounds` says whether `a` is to be rounded like b."""
    if rounds:
        a = a.to(torch.bfloat16).to(b.dtype)
    if b.dtype == result.dtype:
        return result.addmm_(a, b)
    return result.add_(torch.mm(a, b))


def write_product(result: Tensor, a: Tensor, b: Tensor, rounds: bool) -> Tensor:
    """Write a @ b into `result`, and return it."""
    if rounds:
        a = a.to(torch.bfloat16).to(b.dtype)
    if b.dtype == result.dtype:
        return torch.mm(a, b, out=result)
    return result.copy_(torch.mm(a, b))


def affine(bias: Tensor, a: Tensor, b: Tensor, rounds: bool) -> Tensor:
    """Return bias + a @ b."""
    if rounds:
        a = a.to(torch.bfloat16).to(b.dtype)
    if b.dtype == bias.dtype:
        return torch.addmm(bias, a, b)
    return bias + torch.mm(a, b)


@dataclass(frozen=True)
class Matmul:
    """How two matrices are multiplied; results are float32."""

    rounds: bool = False
    """Whether operands are rounded to bfloat16."""
    in_hardware: bool = False
    """Whether the processor multiplies bfloat16 by itself."""

    def operand(self, x: Tensor) -> Tensor:
        """Convert x for products; converting twice changes nothing."""
        if not self.rounds:
            return x
        return x.bfloat16() if self.in_hardware else x.bfloat16().float()

    def add_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Add a @ b to `result`, and return it."""
        return add_product(result, a, b, self.rounds)

    def write_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Write a @ b into `result`, and return it."""
        return write_product(result, a, b, self.rounds)

    def affine(self, bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Return bias + a @ b."""
        return affine(bias, a, b, self.rounds)


def has_bfloat16() -> bool:
    """Return whether this processor multiplies bfloat16 by itself (AMX or AVX512-BF16)."""
    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def products(precision: Precision, device: torch.device | None = None) -> Matmul:
    """Return how this processor multiplies in this precision."""
    if precision == "float32":
        return Matmul()
    in_hardware = has_bfloat16() if device is None or device.type == "cpu" else True
    return Matmul(rounds=True, in_hardware=in_hardware)
