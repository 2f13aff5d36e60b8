"""How words on the command line become values, where cyclopts is too kind: it rounds 1.5 to 2."""

from collections.abc import Sequence
from typing import Any

from cyclopts import Token


def whole_number(_: Any, tokens: Sequence[Token]) -> int:
    """Take a whole number and nothing else."""
    return int(tokens[0].value)


def layers(_: Any, tokens: Sequence[Token]) -> str | int:
    """Take the name or the number of layers; whether the model has them is for the model to say."""
    value = tokens[0].value
    return value if value in ("mix", "all", "top") else int(value)
