"""Optional parts, imported where they are needed."""

from importlib import import_module
from typing import Any

from elmore.errors import MissingExtraError


def import_torch(what: str) -> Any:
    """Return the package torch, which `what` needs and the core does not."""
    try:
        return import_module("torch")
    except ImportError:
        raise MissingExtraError(what, "torch") from None
