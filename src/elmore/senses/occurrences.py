"""Sentences and a word in, the vectors of its occurrences out, and their cosines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError
from elmore.formats.calibration import Layer
from elmore.senses.representations import standardized
from elmore.senses.search import Floats
from elmore.text import normalize


@dataclass(frozen=True)
class Occurrences:
    """A word where it occurs, once in each of some sentences."""

    word: str
    sentences: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Where it is in each sentence."""
    vectors: Mapping[Layer, Floats]
    """Its vectors on each layer that was asked for, (sentences, D)."""
    standardized: bool = False
    """Whether the model's calibration standardized them."""

    def cosines(self, layer: Layer) -> npt.NDArray[np.float64]:
        """Return the cosine of any two occurrences on a layer, (sentences, sentences)."""
        vectors = self.vectors[layer].astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines: npt.NDArray[np.float64] = vectors @ vectors.T
        return cosines

    def nearest(self, layer: Layer) -> npt.NDArray[np.int64]:
        """Return the nearest other occurrence of each, (sentences,)."""
        if len(self.sentences) < 2:
            raise DataError(f"{self.word!r} occurs once; the nearest other needs two sentences")
        cosines = self.cosines(layer)
        np.fill_diagonal(cosines, -np.inf)
        nearest: npt.NDArray[np.int64] = cosines.argmax(axis=1)
        return nearest


def occurrences_of(
    elmo: Elmo,
    word: str,
    sentences: Sequence[str],
    *,
    layers: Sequence[Layer] | None = None,
    standardize: bool = True,
) -> Occurrences:
    """Find the first occurrence of `word` as a token of each sentence, and read them all.

    `layers` are numbers, "context" or "expected"; None: all numbered ones. With `standardize`,
    the vectors of a calibrated model are standardized, so that cosines spread out.
    """
    if isinstance(layers, str):
        raise ConfigError(f"layers is {layers!r}; expected a list, such as [{layers!r}]")
    if not sentences:
        raise DataError("there is no sentence to find the word in; give at least one")
    word = normalize(word, elmo.model.normalization)
    chosen = range(elmo.n_layers) if layers is None else layers
    spans, places = [], []
    read = elmo.encode_tokens(sentences, layers=chosen)
    for sentence, found in zip(sentences, read, strict=True):
        if word not in found.tokens:
            raise DataError(
                f"{word!r} is no token of {sentence!r}; name one of {', '.join(found.tokens)}"
            )
        places.append(found.tokens.index(word))
        assert found.spans is not None
        spans.append(found.spans[places[-1]])
    vectors = {
        layer: np.stack([found.vectors[layer][k] for found, k in zip(read, places, strict=True)])
        for layer in chosen
    }
    if standardize:
        vectors = {layer: standardized(elmo, found, layer) for layer, found in vectors.items()}
    is_standardized = standardize and elmo.model.calibration is not None
    return Occurrences(word, tuple(sentences), tuple(spans), vectors, is_standardized)
