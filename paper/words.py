"""Words as places in raw text in, the vectors of what stands there out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore import Elmo
from elmore.errors import DataError

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Sentence:
    """A raw text and where some words stand in it."""

    text: str
    spans: Sequence[tuple[int, int]]


def word_vectors(elmo: Elmo, sentences: Sequence[Sentence]) -> Vectors:
    """Return the vectors of all words on each layer and their mean, (layers + 1, words, D).

    A text is tokenized as the model's own; a word's vector is the mean of the tokens that reach
    into its span.
    """
    read = elmo.encode_tokens([sentence.text for sentence in sentences], layers="all")
    words = []
    for sentence, found in zip(sentences, read, strict=True):
        starts, ends = np.array(found.spans).reshape(-1, 2).T
        for start, end in sentence.spans:
            inside = (starts < end) & (start < ends)
            if not inside.any():
                raise DataError(f"no token is at {sentence.text[start:end]!r} in {sentence.text!r}")
            words.append(found.vectors[:, inside].mean(axis=1))
    return with_mean(np.stack(words, axis=1))


def with_mean(layers: Vectors) -> Vectors:
    """Add the mean of the layers as one more, (layers + 1, words, D)."""
    return np.concatenate([layers, layers.mean(axis=0, keepdims=True)])
