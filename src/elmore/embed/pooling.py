"""The vectors of a text's tokens in, one vector out.

Shapes: T tokens, D dimensions.
"""

from typing import Literal

from torch import Tensor

Pooling = Literal["mean", "max", "first-last"]


def pool(vectors: Tensor, pooling: Pooling) -> Tensor:
    """Return one vector for the tokens of (..., T, D): (..., D), zeros where there is no token.

    "first-last" is the mean of the first and the last token.
    """
    if vectors.shape[-2] == 0:
        return vectors.sum(dim=-2)
    if pooling == "max":
        return vectors.amax(dim=-2)
    if pooling == "first-last":
        return (vectors[..., 0, :] + vectors[..., -1, :]) / 2
    return vectors.mean(dim=-2)
