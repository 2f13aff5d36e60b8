"""The weights that learn, in one long vector, and their gradients in another.

One vector has one norm, one update and one exchange between processes. The network's own weights
become views of it, so the network is always up to date. The softmax and the word table are kept
apart (their gradients have few rows), and so is what is frozen.
"""

from collections.abc import Collection

import torch
from torch import Tensor, nn

from elmore.model import BiLM
from elmore.model.config import Part

_ALIGNMENT = 16  # numbers: 64 bytes, as torch aligns a tensor of its own


def part_of(name: str) -> Part:
    """Return which part of a biLM a weight belongs to."""
    if name.startswith("token_encoder.words."):
        return "word_table"
    first = name.partition(".")[0]
    return (
        "lstm" if first.endswith("_lstm") else "softmax" if first == "softmax" else "token_encoder"
    )


def row_weights(bilm: BiLM, frozen: Collection[Part] = ()) -> dict[str, Tensor]:
    """Return the weights that learn by rows: the softmax and the word table, by name."""
    return {
        name: parameter.detach()
        for name, parameter in bilm.named_parameters()
        if part_of(name) in {"softmax", "word_table"} - {*frozen}
    }


class Parameters:
    """The weights of a biLM that learn, but for its softmax and its word table."""

    def __init__(self, bilm: BiLM, frozen: Collection[Part] = ()) -> None:
        learning = [
            parameter
            for name, parameter in bilm.named_parameters()
            if part_of(name) not in {*frozen, "softmax", "word_table"}
        ]
        self.places: list[tuple[nn.Parameter, int]] = []
        end = 0
        for parameter in learning:
            self.places.append((parameter, end))
            end += -(-parameter.numel() // _ALIGNMENT) * _ALIGNMENT
        device = next(bilm.parameters()).device
        self.values = torch.zeros(end, device=device)
        for parameter, start in self.places:
            view = self.values[start : start + parameter.numel()].view_as(parameter)
            view.copy_(parameter.detach())
            parameter.data = view


class Gradients:
    """A gradient for each weight that learns."""

    def __init__(self, parameters: Parameters) -> None:
        self.values = torch.zeros_like(parameters.values)
        self._of = {
            id(parameter): self.values[start : start + parameter.numel()].view_as(parameter)
            for parameter, start in parameters.places
        }

    def of(self, parameter: Tensor) -> Tensor | None:
        """Return where the gradient of a weight is summed, or None if it does not learn."""
        return self._of.get(id(parameter))
