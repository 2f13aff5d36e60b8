"""The compiled kernels, for the best instruction set that this processor has.

`ELMORE_KERNELS` chooses another one: generic, avx2, avx512, avx512_bf16 or neon. All give the same
bits in float32. Nothing in C is checked, so that all that reaches it is checked here or by the
caller: arrays by `address`, indices against what they index.
"""

import ctypes
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.errors import ConfigError

ARITHMETIC = "1"
"""Another number once results have other bits."""

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
"""The weights of a model by name: float32, or float16 as they were stored."""
Floats = npt.NDArray[np.float32]

_NAMES = {"win32": "elmore.kernels.dll", "darwin": "elmore.kernels.dylib"}

_ptr, _i64 = ctypes.c_void_p, ctypes.c_int64
_ARGUMENTS: dict[str, list[Any]] = {
    "product": [_ptr, _i64, _ptr, _i64, _ptr, _ptr, _ptr, _i64],
    "lstm_layer": [_ptr],
    "convolve": [_ptr, _i64, _ptr, _i64, _ptr, _i64, _ptr, _i64, _i64, _i64, _i64, _ptr, _i64],
    "highway": [_ptr, _i64, _ptr, _i64, _i64],
    "log_softmax": [_ptr, _i64, _i64, _ptr],
    "exponentials": [_ptr, _i64],
    # of training
    "transposed_product": [_ptr, _i64, _ptr, _ptr, _ptr, _i64, _ptr, *[_i64] * 5],
    "add_rows": [_ptr, _i64, _ptr, _ptr, _i64, _ptr, _i64, _i64],
    "pack": [_ptr, _ptr, _i64, _ptr, *[_i64] * 4],
    "lstm_window": [_ptr, _i64, _i64],
    "lstm_window_back": [_ptr, _i64, _i64],
    "convolve_kept": [_ptr, _ptr, _i64, _ptr, _i64, _ptr, _i64, _ptr, *[_i64] * 4, _ptr, _i64],
    "convolve_back": [*[_ptr] * 5, _i64, _ptr, *[_i64] * 7],
    "highway_back": [*[_ptr] * 5, _i64, _i64, _i64],
    "softmax_loss": [_ptr, _i64, _i64],
    "drop": [_ptr, _i64, _ptr, _i64],
    "adagrad": [_ptr],
    "adamw": [_ptr],
    "sum_of_squares": [_ptr, _i64, _ptr],
    "logarithms": [_ptr, _i64],
}


class Kernels:
    """The functions of one instruction set; they hold no lock, so that threads run at once."""

    def __init__(self, library: ctypes.CDLL, variant: str) -> None:
        self.variant = variant
        """The instruction set."""
        for name, arguments in _ARGUMENTS.items():
            function = getattr(library, f"{variant}_{name}")
            function.argtypes, function.restype = arguments, None
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:  # for the type checker: __init__ sets all there are
        raise AttributeError(name)


@cache
def kernels() -> Kernels:
    """Load the kernels of this processor, or those that ELMORE_KERNELS names."""
    variants = available_variants()
    wanted = os.environ.get("ELMORE_KERNELS") or variants[0]
    if wanted not in variants:
        raise ConfigError(f"ELMORE_KERNELS is {wanted!r}; this processor has {', '.join(variants)}")
    return Kernels(_library(), wanted)


def available_variants() -> list[str]:
    """Return the instruction sets that this processor has, the fastest first."""
    best = _library().elmore_variants
    best.restype = ctypes.c_char_p
    names: bytes = best()
    return names.decode().split()


@cache
def _library() -> ctypes.CDLL:
    path = Path(__file__).with_name(_NAMES.get(sys.platform, "elmore.kernels.so"))
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise ConfigError(
            f"the kernels cannot be loaded ({error}); install elmore again, or in its source "
            "tree run: make kernels"
        ) from None


def address(array: Array | None, dtype: type) -> int | None:
    """Return where the numbers of an array are, whose last axis must be contiguous."""
    if array is None:
        return None
    assert array.dtype == dtype
    flags = array.flags
    if flags.c_contiguous and flags.writeable and array.size:  # in a tenth of the time
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    assert array.size == 0 or array.shape[-1] == 1 or array.strides[-1] == array.itemsize
    return array.ctypes.data


def row_stride(array: Array) -> int:
    """Return the numbers from one row of a matrix to the next."""
    return array.strides[0] // array.itemsize
