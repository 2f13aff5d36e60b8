"""The matrix products of the fast engine, in float32 or in bfloat16.

bfloat16 here means: both operands are rounded to it, sums are made in float32. A processor with
bfloat16 units does that several times as fast; elsewhere the operands are rounded and multiplied as
float32, which gives the same numbers without the speed.

Shapes: x (N, in), weight (in, out), result (N, out).
"""

from typing import Literal, Protocol

import torch
from torch import Tensor

Precision = Literal["float32", "bfloat16"]


class Matrix(Protocol):
    """A weight that rows can be multiplied by."""

    def add_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Add x @ weight to `result`, and return it."""
        ...

    def write_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Write x @ weight into `result`, and return it."""
        ...

    def affine(self, bias: Tensor, x: Tensor) -> Tensor:
        """Return bias + x @ weight."""
        ...


class Float32Matrix:
    """Multiplies as it is."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight

    def add_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Add the product."""
        return result.addmm_(x, self.weight)

    def write_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Write the product."""
        return torch.mm(x, self.weight, out=result)

    def affine(self, bias: Tensor, x: Tensor) -> Tensor:
        """Return bias and product."""
        return torch.addmm(bias, x, self.weight)


class RoundedMatrix:
    """Rounds to bfloat16 and multiplies as float32: for processors without bfloat16."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.bfloat16().float()

    def add_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Add the product."""
        return result.addmm_(x.bfloat16().float(), self.weight)

    def write_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Write the product."""
        return torch.mm(x.bfloat16().float(), self.weight, out=result)

    def affine(self, bias: Tensor, x: Tensor) -> Tensor:
        """Return bias and product."""
        return torch.addmm(bias, x.bfloat16().float(), self.weight)


class Bfloat16Matrix:
    """Multiplies in bfloat16; what comes back is rounded once more."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.bfloat16()

    def add_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Add the product."""
        return result.add_(torch.mm(x.bfloat16(), self.weight))

    def write_to(self, result: Tensor, x: Tensor) -> Tensor:
        """Write the product."""
        return result.copy_(torch.mm(x.bfloat16(), self.weight))

    def affine(self, bias: Tensor, x: Tensor) -> Tensor:
        """Return bias and product."""
        return bias + torch.mm(x.bfloat16(), self.weight)


def has_bfloat16() -> bool:
    """Return whether this processor multiplies bfloat16 by itself (AMX or AVX512-BF16)."""
    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def matrix(weight: Tensor, precision: Precision) -> Matrix:
    """Return the weight as this processor multiplies it best."""
    if precision == "float32":
        return Float32Matrix(weight)
    return Bfloat16Matrix(weight) if has_bfloat16() else RoundedMatrix(weight)
