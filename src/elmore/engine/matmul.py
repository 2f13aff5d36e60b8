"""The matrix products of inference and training, in float32 or in bfloat16.

bfloat16 here means: both operands are rounded to it, sums are in float32. A processor with bfloat16
units does that several times as fast; elsewhere the operands are rounded and multiplied as float32,
which gives the same values without the speed.

In a product a @ b, b is converted already, because it is mostly a weight that is used many times.

Shapes: a (N, in), b (in, out), result (N, out).
"""

from typing import Protocol

import torch
from torch import Tensor

from elmore.model.config import Precision


class Matmul(Protocol):
    """How two matrices are multiplied; results are float32."""

    def operand(self, x: Tensor) -> Tensor:
        """Convert x for products; converting twice changes nothing."""
        ...

    def add_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Add a @ b to `result`, and return it."""
        ...

    def write_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Write a @ b into `result`, and return it."""
        ...

    def affine(self, bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Return bias + a @ b."""
        ...


class Float32Matmul:
    """Multiplies in float32."""

    def operand(self, x: Tensor) -> Tensor:
        """Return x."""
        return x

    def add_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Add the product."""
        return result.addmm_(a, b)

    def write_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Write the product."""
        return torch.mm(a, b, out=result)

    def affine(self, bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Return bias and product."""
        return torch.addmm(bias, a, b)


class RoundedMatmul(Float32Matmul):
    """Rounds to bfloat16 and multiplies as float32: for processors without bfloat16."""

    def operand(self, x: Tensor) -> Tensor:
        """Return x rounded to bfloat16, as float32."""
        return x.bfloat16().float()

    def add_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Add the product."""
        return super().add_to(result, self.operand(a), b)

    def write_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Write the product."""
        return super().write_to(result, self.operand(a), b)

    def affine(self, bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Return bias and product."""
        return super().affine(bias, self.operand(a), b)


class Bfloat16Matmul:
    """Multiplies in bfloat16; the result is rounded to it as well."""

    def operand(self, x: Tensor) -> Tensor:
        """Return x in bfloat16."""
        return x.bfloat16()

    def add_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Add the product."""
        return result.add_(torch.mm(a.bfloat16(), b))

    def write_to(self, result: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Write the product."""
        return result.copy_(torch.mm(a.bfloat16(), b))

    def affine(self, bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """Return bias and product."""
        return bias + torch.mm(a.bfloat16(), b)


def has_bfloat16() -> bool:
    """Return whether this processor multiplies bfloat16 in hardware (AMX or AVX512-BF16)."""
    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def products(precision: Precision, device: torch.device | None = None) -> Matmul:
    """Return the matrix products of this precision on this processor."""
    if precision == "float32":
        return Float32Matmul()
    in_hardware = has_bfloat16() if device is None or device.type == "cpu" else True
    return Bfloat16Matmul() if in_hardware else RoundedMatmul()
