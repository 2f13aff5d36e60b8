"""Layers in, one vector per token out: ELMo_k = gamma * sum_j s_j h_kj.

`ScalarMix` learns s and gamma; this is the learned mix, for vectors without gradients.

Shapes: L+1 layers, T tokens, D dim.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmore.bilm_config import Norm
from elmore.checks import one_of
from elmore.errors import ConfigError
from elmore.kernels.library import Floats

# Inside the square root. A token's own norm takes bilm-tf's.
EPSILON = {"token": 1e-12, "bilm-tf": 1e-12, "allennlp": 1e-13}


@dataclass(frozen=True)
class Mix:
    """A weighted mean of layers."""

    s: tuple[float, ...]
    """The weight of each layer; they are scaled to sum to 1."""
    gamma: float = 1.0
    """The scale."""
    norm: Norm = "none"
    """How layers are normalized first: "token" normalizes each token's vector on each layer,
    "bilm-tf" and "allennlp" each layer over all tokens of a text."""
    context_layer: bool = False
    """Whether the last weight is that of the states that predict each token."""

    def __post_init__(self) -> None:
        one_of(Norm, norm=self.norm)
        if not all(0.0 <= s < math.inf for s in self.s) or sum(self.s) == 0.0:
            raise ConfigError(f"mix weights are {list(self.s)}; expected none below 0, not all 0")
        if not math.isfinite(self.gamma):
            raise ConfigError(f"gamma is {self.gamma}; expected a number")

    @classmethod
    def uniform(cls, n_layers: int) -> "Mix":
        """Return the mean of all layers."""
        return cls((1.0,) * n_layers)

    @classmethod
    def of(cls, mix: Any) -> "Mix":
        """Return what a `ScalarMix` has learned, without its dropout."""
        return cls(tuple(mix.s.tolist()), mix.gamma.item(), mix.norm, mix.context_layer)

    @property
    def n_layers(self) -> int:
        """The layers of the model, the token layer included."""
        return len(self.s) - self.context_layer

    def weights(self) -> dict[str, float]:
        """Return the weights by name: `layer 0` and so on, `context`, and `gamma`."""
        by_layer = {f"layer {j}": s for j, s in enumerate(_scaled(self.s))}
        if self.context_layer:
            by_layer["context"] = by_layer.pop(f"layer {len(self.s) - 1}")
        return {**by_layer, "gamma": self.gamma}

    def scales(self) -> list[np.float32]:
        """Return gamma s_j, by which each layer is multiplied."""
        return [np.float32(self.gamma) * np.float32(s) for s in _scaled(self.s)]

    def __call__(self, layers: Floats) -> Floats:
        """Mix layers (L + 1, T, D), and with `context_layer` one more, into (T, D)."""
        if self.norm != "none":
            layers = _normalized(layers, self.norm)
        scales = self.scales()
        mixed: Floats = scales[0] * layers[0]
        for scale, layer in zip(scales[1:], layers[1:], strict=True):
            mixed += scale * layer
        return mixed


def _scaled(s: Sequence[float]) -> list[float]:
    total = math.fsum(s)
    return [one / total for one in s]


def _normalized(layers: Floats, norm: Norm) -> Floats:
    axes = (2,) if norm == "token" else (1, 2)
    if layers.shape[1] == 0:
        return layers
    exact = np.ascontiguousarray(layers, np.float64)
    exact -= exact.mean(axis=axes, keepdims=True)
    variance = np.square(exact).mean(axis=axes, keepdims=True)
    normalized: Floats = (exact / np.sqrt(variance + EPSILON[norm])).astype(np.float32)
    return normalized
