"""Word and character ids in, one vector per word out: the token encoder of ELMoForManyLangs.

Shapes: C characters, w dimensions of the word embedding, F all filters, p projection_dim.
"""

import torch
from torch import Tensor, nn

from elmore.model.char_cnn import CharCnn, empty_embedding
from elmore.model.config import ConcatConfig


class ConcatEncoder(nn.Module):
    """A word embedding and a char CNN, concatenated and projected, or either alone.

    The ids of a token are its characters, (..., C), and then its row of the word embedding plus 1:
    (..., C + 1) in all. A model without words has no such column, one without characters has no
    other. A row of zeros is padding, whose vector means nothing.
    """

    def __init__(self, config: ConcatConfig, projection_dim: int) -> None:
        super().__init__()
        words, cnn = config.words, config.char_cnn
        self.words = None if words is None else empty_embedding(words.n_words, words.dim)
        self.char_cnn = None if cnn is None else CharCnn(cnn, cnn.n_filters)
        n_inputs = (words.dim if words else 0) + (cnn.n_filters if cnn else 0)
        self.projection = nn.Linear(n_inputs, projection_dim)
        if self.words is not None and not self.words.weight.is_meta:
            nn.init.normal_(self.words.weight)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Encode words, (..., C + 1) ids -> (..., p) vectors."""
        rows = None if self.words is None else self.rows(token_ids)
        return self.combine(self.char_ids(token_ids), rows)

    def combine(self, char_ids: Tensor, rows: Tensor | None) -> Tensor:
        """Encode words by their characters (..., C) and their word embeddings (..., w)."""
        parts = [] if rows is None else [rows]
        if self.char_cnn is not None:
            parts.append(self.char_cnn(char_ids))
        vectors: Tensor = self.projection(torch.cat(parts, dim=-1))
        return vectors

    def rows(self, token_ids: Tensor) -> Tensor:
        """Return the word embeddings, (..., w)."""
        assert self.words is not None
        rows: Tensor = self.words(token_ids[..., -1].clamp(min=1) - 1)
        return rows

    def char_ids(self, token_ids: Tensor) -> Tensor:
        """Return the ids of the characters, (..., C)."""
        return token_ids if self.words is None else token_ids[..., :-1]
