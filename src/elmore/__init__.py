"""ELMo, and more: one vector per word in its sentence, from a bidirectional language model.

The names below are imported when they are first used, so that `import elmore` needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from elmore.extras import import_with_torch

if TYPE_CHECKING:
    from elmore.embed import Elmo
    from elmore.integrations.sklearn import ElmoVectorizer
    from elmore.model.bilm import BiLM
    from elmore.model.elmo_layer import ElmoLayer
    from elmore.model.mix import ScalarMix
    from elmore.static import StaticVectors

    __version__: str

__all__ = [
    "BiLM",
    "Elmo",
    "ElmoLayer",
    "ElmoVectorizer",
    "ScalarMix",
    "StaticVectors",
    "__version__",
]

_HOMES = {
    "Elmo": "elmore.embed",
    "BiLM": "elmore.model.bilm",
    "ElmoLayer": "elmore.model.elmo_layer",
    "ElmoVectorizer": "elmore.integrations.sklearn",
    "ScalarMix": "elmore.model.mix",
    "StaticVectors": "elmore.static",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("elmore")
    if name not in _HOMES:
        raise AttributeError(f"module 'elmore' has no attribute {name!r}")
    return getattr(import_with_torch(_HOMES[name], f"elmore.{name}", "torch"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
