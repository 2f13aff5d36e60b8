"""The trainable weights in one flat vector, and their gradients in another.

One vector has one norm, one update and one all-reduce. The network's own weights become views of
it, so the network is always up to date. The softmax and the word table (whose gradients are sparse)
and all frozen weights are left out.
"""

from collections.abc import Collection
from typing import Protocol

import torch
from torch import Tensor, nn

from elmore.bilm_config import Part
from elmore.model.bilm import BiLM

_ALIGNMENT = 16  # values: 64 bytes, the alignment of torch's own tensors


def part_of(name: str) -> Part:
    """Return the part of a biLM that a weight belongs to."""
    if name.startswith("token_encoder.words."):
        return "word_table"
    first = name.partition(".")[0]
    return (
        "lstm" if first.endswith("_lstm") else "softmax" if first == "softmax" else "token_encoder"
    )


def row_weights(bilm: BiLM, frozen: Collection[Part] = ()) -> dict[str, Tensor]:
    """Return the weights with sparse gradients by name: the softmax and the word table."""
    return {
        name: parameter.detach()
        for name, parameter in bilm.named_parameters()
        if part_of(name) in {"softmax", "word_table"} - {*frozen}
    }


class Parameters:
    """The trainable weights of a biLM, except its softmax and its word table."""

    def __init__(self, bilm: BiLM, frozen: Collection[Part] = ()) -> None:
        trainable = [
            parameter
            for name, parameter in bilm.named_parameters()
            if part_of(name) not in {*frozen, "softmax", "word_table"}
        ]
        self.places: list[tuple[nn.Parameter, int]] = []
        end = 0
        for parameter in trainable:
            self.places.append((parameter, end))
            end += -(-parameter.numel() // _ALIGNMENT) * _ALIGNMENT
        device = next(bilm.parameters()).device
        self.values = torch.zeros(end, device=device)
        for parameter, start in self.places:
            view = self.values[start : start + parameter.numel()].view_as(parameter)
            view.copy_(parameter.detach())
            parameter.data = view


class WeightGradients(Protocol):
    """What a backward pass adds to."""

    def of(self, parameter: Tensor) -> Tensor | None:
        """Return the gradient of a weight, to add to; None if it is frozen."""


class Gradients:
    """A gradient for each trainable weight, all in one vector."""

    def __init__(self, parameters: Parameters) -> None:
        self.values = torch.zeros_like(parameters.values)
        self._of = {
            id(parameter): self.values[start : start + parameter.numel()].view_as(parameter)
            for parameter, start in parameters.places
        }

    def of(self, parameter: Tensor) -> Tensor | None:
        """Return the gradient of a weight, to add to; None if it is frozen."""
        return self._of.get(id(parameter))
