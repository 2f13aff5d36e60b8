"""What users give as inputs, strings among them, and what a saved task has of them; inputs out."""

from dataclasses import fields
from typing import Any, Literal

import msgspec

from elmore.embed import Elmo
from elmore.errors import ConfigError
from elmore.static import StaticVectors
from elmore.tasks.inputs import CharInput, Input, StaticInput
from elmore.tasks.layer_inputs import ElmoInput, VectorInput

_KINDS: dict[str, type[Any]] = {
    kind.kind: kind for kind in (StaticInput, ElmoInput, CharInput, VectorInput)
}
InputKind = Literal["static", "elmo", "chars", "vectors"]


def input_of(given: Any) -> Input:
    """Return the input that a user gives: one already, a string, vectors, or an encoder.

    A string is KIND:SOURCE with options after commas, such as "static:glove.txt", "chars:64" or
    "elmo:en,layers=expected,dropout=0.3".
    """
    if isinstance(given, str):
        return _parsed(given)
    if isinstance(given, Input):
        given.check()
        return given
    if isinstance(given, StaticVectors):
        return StaticInput(given)
    if isinstance(given, Elmo):
        return ElmoInput(given)
    if callable(getattr(given, "encode_tokens", None)):
        return VectorInput(given)
    raise ConfigError(
        f"an input is {given!r}; expected a string such as elmo:en,layers=expected, StaticVectors, "
        "an Elmo, or an object with encode_tokens"
    )


def _parsed(given: str) -> Input:
    kind, _, rest = given.partition(":")
    value, *options = rest.split(",")
    if kind not in ("static", "elmo", "chars") or not value:
        raise ConfigError(
            f"an input is {given!r}; expected static:FILE, elmo:MODEL or chars:FILTERS, with "
            "options after commas, such as elmo:en,layers=expected"
        )
    named: dict[str, Any] = dict(option.partition("=")[::2] for option in options)
    if "layers" in named and named["layers"].isdecimal():
        named["layers"] = int(named["layers"])
    named["n_filters" if kind == "chars" else "source"] = value
    return restored_input(kind, named, f"the input {given!r}", strict=False)


def restored_input(kind: str, options: dict[str, Any], where: str, *, strict: bool = True) -> Input:
    """Return an input of given options; `where` is what errors call it."""
    cls = _KINDS[kind]
    known = {one.name: one for one in fields(cls)}
    if unknown := sorted(options.keys() - known.keys()):
        raise ConfigError(
            f"{where} has the option {unknown[0]!r}; expected {', '.join(sorted(known))}"
        )
    found = {}
    for name, value in options.items():
        kind_of: Any = Any if name == "source" else known[name].type
        try:
            found[name] = msgspec.convert(value, kind_of, strict=strict)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{where}: {name} is {value!r} ({error})") from None
    made: Input = cls(**found)
    made.check()
    return made
