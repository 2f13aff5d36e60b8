"""Checks of settings, with one sentence each for what is wrong. Below everything, as errors."""

from typing import get_args

from elmore.errors import ConfigError

MAX_SEED = 2**32 - 1
"""The largest that every library takes."""


def at_least(smallest: int, *, largest: int | None = None, **values: int) -> None:
    """Refuse what is no whole number of at least `smallest` (and at most `largest`)."""
    for name, value in values.items():
        if type(value) is not int or value < smallest:
            raise ConfigError(f"{name} is {value!r}; expected a whole number, at least {smallest}")
        if largest is not None and value > largest:
            raise ConfigError(f"{name} is {value}; expected at most {largest}")


def one_of(choices: object, **values: str) -> None:
    """Refuse what is not one of the words of a Literal type."""
    for name, value in values.items():
        if value not in get_args(choices):
            expected = ", ".join(get_args(choices))
            raise ConfigError(f"{name} is {value!r}; expected one of {expected}")


def numbers(**values: float) -> None:
    """Refuse what is no number."""
    for name, value in values.items():
        if type(value) not in (int, float):
            raise ConfigError(f"{name} is {value!r}; expected a number")


def strings(**values: str) -> None:
    """Refuse what is no string."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name} is {value!r}; expected a name")
