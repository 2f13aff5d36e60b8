"""Forward and backward pass of the token encoder of ELMoForManyLangs in training.

The backward pass is autograd's: some words at a time are encoded again, which bounds its memory.
The word embedding is not here: its rows come in, and their gradients go out (word_table_grad.py).

Shapes: W words, C characters, w dimensions of the word embedding, p projection_dim.
"""

import torch
from torch import Tensor

from elmore.engine.parameters import Gradients
from elmore.model.concat_encoder import ConcatEncoder

_MAX_WORDS = 128  # 2,048 filters over 50 characters take 0.4 MB a word before pooling


class ConcatGrad:
    """A char CNN and the projection of a `ConcatEncoder` with their gradients."""

    def __init__(self, encoder: ConcatEncoder) -> None:
        self.encoder = encoder
        self.weights = [
            weight for name, weight in encoder.named_parameters() if not name.startswith("words.")
        ]

    def forward(self, char_ids: Tensor, rows: Tensor | None) -> Tensor:
        """Encode words by their characters (W, C) and rows (W, w), -> (W, p)."""
        self.inputs = [
            (char_ids[some], None if rows is None else rows[some])
            for some in _slices(len(char_ids))
        ]
        with torch.no_grad():
            return torch.cat([self.encoder.combine(*some) for some in self.inputs])

    def backward(self, dvectors: Tensor, gradients: Gradients) -> Tensor | None:
        """Add the gradients of all weights, given that of the vectors; return that of the rows."""
        trained = [(weight, gradients.of(weight)) for weight in self.weights]
        kept = [(weight, gradient) for weight, gradient in trained if gradient is not None]
        drows: list[Tensor] = []
        for (ids, rows), some in zip(self.inputs, _slices(len(dvectors)), strict=True):
            leaf = [] if rows is None else [rows.detach().requires_grad_()]
            leaves = [weight for weight, _ in kept] + leaf
            if not leaves:
                return None
            with torch.enable_grad():
                vectors = self.encoder.combine(ids, leaf[0] if leaf else None)
            found = torch.autograd.grad(vectors, leaves, dvectors[some])
            for (_, gradient), new in zip(kept, found, strict=False):
                gradient.add_(new)
            drows += found[len(kept) :]
        return torch.cat(drows) if drows else None


def _slices(n_words: int) -> list[slice]:
    return [slice(start, start + _MAX_WORDS) for start in range(0, n_words, _MAX_WORDS)]
