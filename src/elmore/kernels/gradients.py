"""What backward passes are made of, by kernels: weights' gradients, sums over rows, packing.

Each element of a gradient is one sum over tokens in their order, so that threads may divide it into
any blocks.
"""

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmore.kernels.library import Floats, address, kernels, row_stride
from elmore.kernels.packed import PANEL, PackedMatrix

Rows = npt.NDArray[np.int32]


def add_transposed_product(
    out: Floats,
    a: Floats,
    b: Floats,
    *,
    out_rows: Rows | None = None,
    sums: Floats | None = None,
    bfloat16: bool = False,
) -> None:
    """Add a^T b to out (m, n), of a (N, m) and b (N, n), and the sums of a's columns to `sums`.

    With `out_rows`, row i of the result is row out_rows[i] of out (or none where it is negative).
    """
    n_tokens, m = a.shape
    n = b.shape[1]
    assert len(b) == n_tokens
    assert out.shape[1] == n
    if out_rows is None:
        assert len(out) == m
    else:
        assert len(out_rows) == m
        assert not m or out_rows.max() < len(out)
    assert sums is None or (len(sums) == len(out) and sums.flags.c_contiguous)
    kernels().transposed_product(
        address(out, np.float32), row_stride(out), address(sums, np.float32),
        address(out_rows, np.int32), address(a, np.float32), row_stride(a),
        address(b, np.float32), row_stride(b), n_tokens, m, n, 2 if bfloat16 else 0,
    )  # fmt: skip


def add_rows(out: Floats, rows: Rows, x: Floats, *, factors: Floats | None = None) -> None:
    """Add row i of x (N, n), multiplied by its factor, to row rows[i] of out, in order."""
    assert x.ndim == out.ndim == 2
    assert x.shape == (len(rows), out.shape[1])
    assert not len(rows) or (rows.min() >= 0 and rows.max() < len(out))
    assert factors is None or factors.shape == rows.shape
    kernels().add_rows(
        address(out, np.float32), row_stride(out), address(rows, np.int32),
        address(x, np.float32), row_stride(x), address(factors, np.float32), *x.shape,
    )  # fmt: skip


def empty_packed(k: int, n: int, *, bfloat16: bool = False) -> PackedMatrix:
    """Return a matrix (k, n) of zeros, to pack weights into."""
    n_panels = -(-n // PANEL)
    if bfloat16:
        return PackedMatrix(np.zeros((n_panels, -(-k // 2), PANEL, 2), np.uint16), k, n, "bfloat16")
    return PackedMatrix(np.zeros((n_panels, k, PANEL), np.float32), k, n, "float32")


def pack(
    to: PackedMatrix,
    weight: Floats,
    *,
    rows: Rows | None = None,
    transposed: bool = False,
    start: int = 0,
) -> None:
    """Pack rows of a weight (…, n), all or some, into a matrix: those, or their transpose.

    The weight's columns are the matrix's from column `start` on or, transposed, its rows from row
    `start` on. For a negative row nothing is written.
    """
    n_rows = len(weight) if rows is None else len(rows)
    n = weight.shape[1]
    assert (to.n if transposed else to.k) >= n_rows
    assert (to.k if transposed else to.n) >= start + n
    assert rows is None or not n_rows or rows.max() < len(weight)
    kernels().pack(
        ctypes.byref(to.struct), address(weight, np.float32), row_stride(weight),
        address(rows, np.int32), n_rows, n, transposed, start,
    )  # fmt: skip


def norm(parts: Sequence[Floats]) -> float:
    """Return the norm of all numbers of contiguous arrays, by one order of summing."""
    total = 0.0
    for part in parts:
        assert part.flags.c_contiguous
        found = np.zeros(1)
        kernels().sum_of_squares(address(part, np.float32), part.size, address(found, np.float64))
        total += float(found[0])
    return float(np.sqrt(total))


def logarithms(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the natural logarithms of numbers above 0: NumPy's differ from machine to machine."""
    found = np.array(x, np.float64, order="C")
    kernels().logarithms(address(found, np.float64), found.size)
    return found
