"""A linear layer in training, y = W x + b.

Shapes: N rows, n_in, n_out.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from elmore.engine.parallel import Job, n_threads
from elmore.kernels.gradients import add_transposed_product, empty_packed, pack
from elmore.kernels.library import Floats
from elmore.kernels.packed import product

_BLOCK = 96  # rows of a weight whose gradient is one job


class LinearTraining:
    """A linear layer with its gradients."""

    def __init__(self, arrays: Mapping[str, Floats], name: str, *, bfloat16: bool = False) -> None:
        self.name, self.bfloat16 = name, bfloat16
        self.weight, self.bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]
        n_out, n_in = self.weight.shape
        self.forward_weight = empty_packed(n_in, n_out, bfloat16=bfloat16)
        self.back_weight = empty_packed(n_out, n_in, bfloat16=bfloat16)
        self.zeros = self.back_weight.whole_panels(np.zeros(n_in, np.float32))

    def pack(self) -> None:
        """Pack the weights, which have changed."""
        pack(self.forward_weight, self.weight, transposed=True)
        pack(self.back_weight, self.weight)
        self.whole_bias = self.forward_weight.whole_panels(self.bias)

    def forward(self, x: Floats, out: Floats) -> None:
        """Write to out (N, n_out), given x (N, n_in)."""
        product(x, self.forward_weight, bias=self.whole_bias, out=out)

    def backward(self, dy: Floats, dx: Floats, *, add: bool = False) -> None:
        """Write, or add, the gradient of the input to dx (N, n_in)."""
        product(dy, self.back_weight, bias=None if add else self.zeros, out=dx)

    def weight_jobs(self, x: Floats, dy: Floats, gradients: Mapping[str, Floats]) -> list[Job]:
        """Return jobs that add the gradients of the weights, if they learn."""
        weight = gradients.get(f"{self.name}.weight")
        bias = gradients.get(f"{self.name}.bias")
        if weight is None and bias is None:
            return []
        if weight is None:
            weight = np.zeros_like(self.weight)  # for the bias alone
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(weight), _BLOCK)]
        return [
            partial(
                add_transposed_product, weight[block], dy[:, block], x,
                sums=None if bias is None else bias[block], bfloat16=self.bfloat16,
            )
            for block in blocks
        ]  # fmt: skip


def slices(n: int) -> list[slice]:
    """Return rows in parts, enough for all threads."""
    size = max(16, -(-n // (2 * n_threads())))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
