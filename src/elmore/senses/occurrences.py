"""Sentences and a word in, the vectors of its occurrences out, and how alike they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.errors import DataError
from elmore.text import normalize

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Occurrences:
    """A word where it occurs, once in each of some sentences."""

    word: str
    sentences: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Where it stands in each sentence."""
    vectors: Vectors
    """(L + 1, sentences, D): its vector on each layer."""

    def cosines(self, layer: int) -> npt.NDArray[np.float64]:
        """Return how alike any two occurrences are on a layer, (sentences, sentences)."""
        vectors = self.vectors[layer].astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines: npt.NDArray[np.float64] = vectors @ vectors.T
        return cosines

    def nearest(self, layer: int) -> npt.NDArray[np.int64]:
        """Return for each occurrence which other one is most like it, (sentences,)."""
        if len(self.sentences) < 2:
            raise DataError(f"{self.word!r} occurs once; the nearest other needs two sentences")
        cosines = self.cosines(layer)
        np.fill_diagonal(cosines, -np.inf)
        nearest: npt.NDArray[np.int64] = cosines.argmax(axis=1)
        return nearest


def occurrences_of(elmo: Elmo, word: str, sentences: Sequence[str]) -> Occurrences:
    """Find the first occurrence of `word` as a token of each sentence, and read them all."""
    if not sentences:
        raise DataError("there is no sentence to find the word in; give at least one")
    word = normalize(word, elmo.model.normalization)
    spans, vectors = [], []
    for sentence, found in zip(sentences, elmo.encode_tokens(sentences, layers="all"), strict=True):
        if word not in found.tokens:
            raise DataError(
                f"{word!r} is no token of {sentence!r}; name one of {', '.join(found.tokens)}"
            )
        place = found.tokens.index(word)
        assert found.spans is not None
        spans.append(found.spans[place])
        vectors.append(found.vectors[:, place])
    return Occurrences(word, tuple(sentences), tuple(spans), np.stack(vectors, axis=1))
