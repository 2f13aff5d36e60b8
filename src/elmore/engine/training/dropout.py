"""Dropout by counters: a number is dropped by a function of a key and its place.

No mask is stored: the backward pass draws the same again, and any thread draws any part.
"""

import ctypes
from dataclasses import dataclass

import numpy as np

from elmore.kernels.library import Floats, address, kernels


class DropoutStruct(ctypes.Structure):
    """`Dropout` of dropout.h."""

    _fields_ = (
        ("key", ctypes.c_uint64),
        ("below", ctypes.c_uint64),
        ("scale", ctypes.c_float),
    )


@dataclass(frozen=True)
class Dropout:
    """Drops a share of numbers, and scales the others so that their mean stays."""

    rate: float
    key: int
    """64 bits."""

    @classmethod
    def seeded(cls, rate: float, *numbers: int) -> "Dropout":
        """Return a dropout whose key is a function of these numbers."""
        return cls(rate, int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))

    @property
    def struct(self) -> DropoutStruct:
        """What kernels take."""
        return DropoutStruct(self.key, round(self.rate * 2**32), 1 / (1 - self.rate))

    def drop(self, x: Floats, place: int = 0) -> None:
        """Drop some of x in its place; `place` is that of its first number."""
        assert x.flags.c_contiguous
        kernels().drop(address(x, np.float32), x.size, ctypes.byref(self.struct), place)


NO_DROPOUT = Dropout(0.0, 0)
