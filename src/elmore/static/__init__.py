"""Static vectors: one for each spelling, wherever it stands (GloVe, word2vec, fastText)."""

from elmore.static.vectors import StaticVectors

__all__ = ["StaticVectors"]
