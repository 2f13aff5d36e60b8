"""Layers in, one vector per token out: ELMo_k = gamma * sum_j s_j h_kj, with s = softmax(w).

Shapes: L+1 layers, B sentences, T tokens, D dim.
"""

import math
from collections.abc import Sequence
from typing import get_args

import torch
from torch import Tensor, nn

from elmore.bilm_config import Norm
from elmore.errors import ConfigError

# Inside the square root. A token's own norm takes bilm-tf's.
_EPSILON = {"token": 1e-12, "bilm-tf": 1e-12, "allennlp": 1e-13}


class ScalarMix(nn.Module):
    """A weighted mean of layers, its weights s and its scale gamma learned by the task.

    `weights` are the initial s (scaled to sum to 1; default: uniform), and with `trainable=False`
    the final ones. With `context_layer` there is one weight more, for the
    states that predict each token (`with_context_layer`). `norm` makes the layers comparable
    first: "token" normalises each token's vector on each layer; "bilm-tf" and "allennlp" normalise
    each layer over the whole batch, as those libraries do, so that a vector depends on its
    neighbours in the batch.
    """

    def __init__(
        self,
        n_layers: int,
        *,
        weights: Sequence[float] | None = None,
        gamma: float = 1.0,
        trainable: bool = True,
        norm: Norm = "none",
        dropout: float = 0.0,
        context_layer: bool = False,
    ) -> None:
        super().__init__()
        if norm not in get_args(Norm):
            raise ConfigError(f"norm is {norm!r}; expected one of {get_args(Norm)}")
        if not 0.0 <= dropout < 1.0:
            raise ConfigError(f"dropout is {dropout}; expected a share from 0 to below 1")
        if trainable and weights is not None and 0.0 in weights:
            raise ConfigError(
                f"mix weights are {list(weights)}; a weight that starts at 0 never learns: "
                "give a small one, or trainable=False"
            )
        self.norm = norm
        self.context_layer = context_layer
        n_weights = n_layers + context_layer
        self.w = nn.Parameter(
            _logits([1.0] * n_weights if weights is None else weights, n_weights), trainable
        )
        self.gamma = nn.Parameter(torch.tensor(gamma, dtype=torch.float32), trainable)
        self.dropout = nn.Dropout(dropout)

    @property
    def s(self) -> Tensor:
        """The weights of the layers, (L + 1,), summing to 1."""
        return self.w.softmax(dim=0)

    def weights(self) -> dict[str, float]:
        """Return the learned weights by name: `layer 0` and so on, `context`, and `gamma`."""
        by_layer = {f"layer {j}": s for j, s in enumerate(self.s.tolist())}
        if self.context_layer:
            by_layer["context"] = by_layer.pop(f"layer {len(self.w) - 1}")
        return {**by_layer, "gamma": self.gamma.item()}

    def forward(self, layers: Tensor, mask: Tensor) -> Tensor:
        """Mix layers (L + 1, B, T, D) into (B, T, D), 0 where mask (B, T) has no token."""
        if layers.shape[0] != len(self.w):
            raise ConfigError(f"the mix has {len(self.w)} weights, for {layers.shape[0]} layers")
        if self.norm != "none":
            layers = _normalize(layers, mask, self.norm)
        mixed = self.gamma * torch.einsum("l,lbtd->btd", self.s, layers)
        dropped: Tensor = self.dropout(mixed)
        return dropped.masked_fill(~mask[:, :, None], 0.0)


def _normalize(layers: Tensor, mask: Tensor, norm: Norm) -> Tensor:
    if norm == "token":
        variance, mean = torch.var_mean(layers, dim=3, correction=0, keepdim=True)
    else:
        real = mask[None, :, :, None]
        n_numbers = (mask.sum() * layers.shape[3]).clamp(min=1)
        whole = (1, 2, 3)
        mean = layers.masked_fill(~real, 0.0).sum(whole, keepdim=True) / n_numbers
        squares = (layers - mean).masked_fill(~real, 0.0).square()
        variance = squares.sum(whole, keepdim=True) / n_numbers
    return (layers - mean) / (variance + _EPSILON[norm]).sqrt()


def _logits(weights: Sequence[float], n_layers: int) -> Tensor:
    """Return w such that softmax(w) is proportional to the weights."""
    if len(weights) != n_layers:
        raise ConfigError(f"{len(weights)} mix weights for {n_layers} layers; expected one each")
    if not all(0.0 <= s < math.inf for s in weights) or sum(weights) == 0.0:
        raise ConfigError(f"mix weights are {list(weights)}; expected none below 0, not all 0")
    return torch.tensor(weights, dtype=torch.float32).log()
