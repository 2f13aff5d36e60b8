"""The name of a precision in, the precision of the matrix products out."""

from typing import Literal

from elmore.bilm_config import Precision
from elmore.checks import one_of
from elmore.kernels.library import kernels

PrecisionName = Literal["float32", "bfloat16", "auto"]


def has_bfloat16() -> bool:
    """Return whether the processor multiplies bfloat16; others do it by float32."""
    return kernels().variant == "avx512_bf16"


def resolve_precision(name: PrecisionName) -> Precision:
    """Return the precision of a name; "auto" is bfloat16 where the processor has it."""
    one_of(PrecisionName, precision=name)
    if name == "auto":
        return "bfloat16" if has_bfloat16() else "float32"
    return name
