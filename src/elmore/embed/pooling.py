"""The vectors of a text's tokens in, one vector out.

Shapes: T tokens, D dimensions.
"""

from typing import Literal

import numpy as np

from elmore.kernels.library import Floats

Pooling = Literal["mean", "max", "first-last"]


def pool(vectors: Floats, pooling: Pooling) -> Floats:
    """Return one vector for the tokens of (..., T, D): (..., D), zeros where there is no token.

    "first-last" is the mean of the first and the last token.
    """
    n_tokens = vectors.shape[-2]
    pooled: Floats
    if n_tokens == 0:
        pooled = vectors.sum(axis=-2)
    elif pooling == "max":
        pooled = vectors.max(axis=-2)
    elif pooling == "first-last":
        pooled = (vectors[..., 0, :] + vectors[..., -1, :]) / np.float32(2)
    else:
        pooled = vectors.sum(axis=-2) / np.float32(n_tokens)
    return pooled
