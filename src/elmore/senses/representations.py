"""The vectors of a sentence's tokens in, those of one of its words out, ready for cosines.

A word such as "took place" has several tokens: on a layer its vector is their mean, and what
predicts it are the states before its first token and after its last. Where the model is
calibrated, all are standardized; the vectors of an uncalibrated model stay raw.

Shapes: T tokens, p projection_dim, D = 2p.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from elmore.embed import Elmo
from elmore.formats.calibration import Layer
from elmore.senses.search import Floats, unit_norm

Representation = Layer | Literal["joined"]
"""A layer's number; context or expected; joined, the top layer and context, each of norm 1."""


def standardized(elmo: Elmo, vectors: Floats, layer: Layer) -> Floats:
    """Return vectors, (..., D), of a layer as cosines use them: raw if there is no calibration."""
    if elmo.model.calibration is None:
        return vectors
    found: Floats = elmo.model.calibration.standardize(vectors, layer)
    return found


def read_layers(elmo: Elmo) -> list[Layer]:
    """Return the layers that `word_vectors` needs."""
    return [*range(elmo.n_layers), "context"]


def word_vectors(
    elmo: Elmo, vectors: Mapping[Any, Floats], start: int, end: int
) -> dict[Representation, Floats]:
    """Return each representation, (D,), of the word at the tokens from `start` to before `end`.

    `vectors` are those of its text by `Elmo.encode_tokens(layers=read_layers(elmo))`.
    """
    found: dict[Layer, Floats] = {
        n: vectors[n][start:end].mean(axis=0) for n in range(elmo.n_layers)
    }
    half = elmo.dim // 2
    before, after = vectors["context"][start, :half], vectors["context"][end - 1, half:]
    found["context"], found["expected"] = np.concatenate([before, after]), before + after
    found = {layer: standardized(elmo, vector, layer) for layer, vector in found.items()}
    parts = found[elmo.n_layers - 1], found["context"]
    joined = np.concatenate([unit_norm(part[None])[0] for part in parts])
    named: dict[Representation, Floats] = dict(found.items())
    return named | {"joined": joined}
