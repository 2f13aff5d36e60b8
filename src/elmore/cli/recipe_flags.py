"""Every field of a recipe as a flag: declared once, in its dataclass, which says what it means."""

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter, Token
from docstring_parser import parse_from_object

from elmore.cli import arguments
from elmore.pretrain.recipes import NOT_IN_RECIPES, TABLES
from elmore.text import Normalization


def _filters(_: Any, tokens: Sequence[Token]) -> str:
    """Take convolutions as WIDTH:NUMBER, such as 1:32,2:32,3:64."""
    try:
        _pairs(tokens[0].value)
    except ValueError:
        raise ValueError(f"got {tokens[0].value!r}, expected such as 1:32,2:32,3:64") from None
    return tokens[0].value


def _pairs(filters: str) -> tuple[tuple[int, int], ...]:
    pairs = [part.split(":") for part in filters.split(",")]
    return tuple((int(width), int(number)) for width, number in pairs)


def _number_or_none(_: Any, tokens: Sequence[Token]) -> float | str:
    return "none" if tokens[0].value == "none" else float(tokens[0].value)


def _field(field: Any, table: str, doc: str) -> tuple[str, Any, Any]:
    options: dict[str, Any] = {"help": doc, "group": Group(f"Recipe: {table}")}
    kind: Any = field.type
    if field.name == "filters":
        options["converter"], kind = _filters, str
    elif field.name == "normalization":
        kind = Literal[Normalization, "none"]
    elif field.name == "char_encoding":
        kind = Literal["bytes", "jamo", "bilm-tf"]
    elif kind is int:
        options["converter"] = arguments.whole_number
    elif kind in (float | None, float | int | None):
        options["converter"], kind = _number_or_none, float | Literal["none"]
    return field.name, Annotated[kind | None, Parameter(**options)], None


def _flags() -> type:
    fields = []
    for table, cls in TABLES.items():
        docs = {doc.arg_name: doc.description or "" for doc in parse_from_object(cls).params}
        fields += [
            _field(field, table, " ".join(docs[field.name].split()))
            for field in dataclasses.fields(cls)
            if field.name not in NOT_IN_RECIPES
        ]
    flags = dataclasses.make_dataclass("RecipeFlags", fields, frozen=True, kw_only=True)
    flags.__module__ = __name__  # or it is taken for a type of Python's own, which has no fields
    return flags


RecipeFlags = _flags()
NO_FLAGS = RecipeFlags()


def changes(flags: Any) -> dict[str, Any]:
    """Return the fields that were given."""
    given = {name: value for name, value in vars(flags).items() if value is not None}
    if "filters" in given:
        given["filters"] = _pairs(given["filters"])
    return given
