"""Static vectors: one for each word, independent of context (GloVe, word2vec, fastText).

`StaticVectors` is imported when first used, so that settings can be read without NumPy.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmore.static.vectors import StaticVectors

__all__ = ["StaticVectors"]


def __getattr__(name: str) -> Any:
    if name != "StaticVectors":
        raise AttributeError(f"module 'elmore.static' has no attribute {name!r}")
    from elmore.static.vectors import StaticVectors  # noqa: PLC0415

    return StaticVectors
