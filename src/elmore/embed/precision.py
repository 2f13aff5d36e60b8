"""What a user asks for in, the precision that is used out."""

from typing import Literal

from elmore.embed.results import check_word
from elmore.engine import has_bfloat16
from elmore.model.config import Precision

PrecisionName = Literal["float32", "bfloat16", "auto"]


def resolve_precision(name: PrecisionName) -> Precision:
    """Return the precision of a name; "auto" is bfloat16 where the processor has it."""
    check_word("precision", name, PrecisionName)
    if name == "auto":
        return "bfloat16" if has_bfloat16() else "float32"
    return name
