"""Optional parts, imported where they are needed."""

from importlib import import_module
from typing import Any

from elmore.errors import MissingExtraError


def import_with_torch(module: str, what: str, extra: str) -> Any:
    """Return a module of elmore that imports torch, which `extra` brings and `what` needs."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError(what, extra) from None


def import_torch(what: str) -> Any:
    """Return the package torch, which `what` needs and the core does not."""
    try:
        return import_module("torch")
    except ImportError:
        raise MissingExtraError(what, "torch") from None
