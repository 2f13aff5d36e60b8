"""What a user asks for in, the precision that is used out."""

from typing import Literal, get_args

from elmore.errors import ConfigError
from elmore.model import Precision, has_bfloat16

PrecisionName = Literal["float32", "bfloat16", "auto"]


def resolve_precision(name: PrecisionName) -> Precision:
    """Return the precision of a name; "auto" is bfloat16 where the processor has it."""
    if name == "auto":
        return "bfloat16" if has_bfloat16() else "float32"
    if name not in get_args(Precision):
        raise ConfigError(
            f"precision is {name!r}; expected one of {', '.join(get_args(PrecisionName))}"
        )
    return name
