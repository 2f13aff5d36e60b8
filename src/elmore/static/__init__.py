"""Static vectors: one for each word, independent of context (GloVe, word2vec, fastText)."""

from elmore.static.vectors import StaticVectors

__all__ = ["StaticVectors"]
