"""Vectors of a text's tokens in, fewer out: the layers that were asked for, or one vector in all.

Shapes: L+1 layers, T tokens, D dim.
"""

from typing import Literal

import torch
from torch import Tensor

from elmore.errors import ConfigError
from elmore.model import ScalarMix

Layers = Literal["mix", "all", "top"] | int
Pooling = Literal["mean", "max", "first-last"]


def check_layers(which: Layers, n_layers: int) -> None:
    """Refuse layers that a model of `n_layers` (the token layer included) does not have."""
    words = ("mix", "all", "top")
    known = which in words if isinstance(which, str) else type(which) is int and which >= 0
    if not known or (isinstance(which, int) and which >= n_layers):
        numbers = ", ".join(map(str, range(n_layers)))
        raise ConfigError(f"layers is {which!r}; expected {', '.join(words)}, or one of {numbers}")


def select_layers(layers: Tensor, which: Layers, mix: ScalarMix) -> Tensor:
    """Return one layer of (L + 1, T, D), their mix, (T, D), or all of them."""
    if which == "mix":
        everywhere = torch.ones(1, layers.shape[1], dtype=torch.bool, device=layers.device)
        mixed: Tensor = mix(layers[:, None], everywhere)
        return mixed[0]
    if which == "all":
        return layers
    return layers[-1 if which == "top" else which]


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
