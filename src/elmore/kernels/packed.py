"""Matrices packed for products, and products with them.

A matrix stands in panels of 64 columns, so that a product reads it from front to end. It stays in
the precision that it is stored in: float16 is widened in the processor, to the same bits as before.
"""

import ctypes
from typing import Literal

import numpy as np
import numpy.typing as npt

from elmore.kernels.library import Array, Floats, address, kernels, row_stride

PANEL = 64
_TYPES = {"float32": 0, "float16": 1, "bfloat16": 2}
Stored = Literal["float32", "float16", "bfloat16"]


class PackedStruct(ctypes.Structure):
    """`Packed` of products.h."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("k", ctypes.c_int64),
        ("n", ctypes.c_int64),
        ("type", ctypes.c_int64),
    )


class PackedMatrix:
    """A matrix (k, n), the right operand of products."""

    def __init__(self, panels: Array, k: int, n: int, stored: Stored) -> None:
        self.panels = panels
        self.k, self.n = k, n
        self.struct = PackedStruct(panels.ctypes.data, k, n, _TYPES[stored])

    @classmethod
    def of(cls, matrix: Array, *, bfloat16: bool = False) -> "PackedMatrix":
        """Pack a matrix (k, n) of float32 or float16."""
        k, n = matrix.shape
        n_panels = -(-n // PANEL)
        if n % PANEL:
            matrix = np.pad(matrix, ((0, 0), (0, n_panels * PANEL - n)))
        panels = matrix.reshape(k, n_panels, PANEL).transpose(1, 0, 2)
        return cls.of_panels(panels, n, bfloat16=bfloat16)

    @classmethod
    def of_panels(cls, panels: Array, n: int, *, bfloat16: bool = False) -> "PackedMatrix":
        """Pack panels (n / 64, k, 64) of columns."""
        k = panels.shape[1]
        if bfloat16:
            return cls(_pairs(panels), k, n, "bfloat16")
        stored: Stored = "float16" if panels.dtype == np.float16 else "float32"
        return cls(np.ascontiguousarray(panels, dtype=stored), k, n, stored)

    def whole_panels(self, row: Array) -> Floats:
        """Return a row of n numbers, such as a bias, filled up with zeros to whole panels."""
        padded = np.zeros(-(-self.n // PANEL) * PANEL, np.float32)
        padded[: len(row)] = row
        return padded


def product(
    a: Floats,
    b: PackedMatrix,
    *,
    bias: Floats | None,
    out: Floats | None = None,
    rows: npt.NDArray[np.int32] | None = None,
) -> Floats:
    """Return a @ b + bias, (m, n); with `rows`, of those rows of a. A bias has whole panels.

    Without a bias, a @ b is added to `out`.
    """
    m = len(a) if rows is None else len(rows)
    if out is None:
        assert bias is not None
        out = np.empty((m, b.n), np.float32)
    assert a.shape[1] == b.k
    assert rows is None or not m or (rows.min() >= 0 and rows.max() < len(a))
    assert out.shape == (m, b.n)
    assert bias is None or (len(bias) % PANEL == 0 and len(bias) >= b.n)
    kernels().product(
        address(out, np.float32),
        row_stride(out),
        address(a, np.float32),
        row_stride(a),
        address(rows, np.int32),
        ctypes.byref(b.struct),
        address(bias, np.float32),
        m,
    )
    return out


def to_bfloat16(x: Array) -> npt.NDArray[np.uint16]:
    """Return numbers rounded to bfloat16, to nearest even, as their 16 bits."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    rounded: npt.NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded


def _pairs(panels: Array) -> npt.NDArray[np.uint16]:
    """Return panels (P, k, 64) as (P, k / 2, 64, 2) in bfloat16."""
    n_panels, k, width = panels.shape
    rounded = to_bfloat16(panels)
    if k % 2:
        rounded = np.pad(rounded, ((0, 0), (0, 1), (0, 0)))
    pairs = rounded.reshape(n_panels, -1, 2, width).transpose(0, 1, 3, 2)
    return np.ascontiguousarray(pairs)
