"""Token ids in, one vector per token out: the context-free layer of ELMo.

Shapes: C characters, F all filters, w dimensions of the word table, p projection_dim.
"""

import torch
from torch import Tensor, nn

from elmore.bilm_config import TokenEncoderConfig
from elmore.model.char_cnn import CharCnn, empty_embedding


class TokenEncoder(nn.Module):
    """A char CNN, a table of words, or both: added or concatenated."""

    def __init__(self, config: TokenEncoderConfig, projection_dim: int) -> None:
        super().__init__()
        self.adds = config.combine == "add"
        self.char_cnn = None if config.chars is None else CharCnn(config.chars)
        n_projected = config.projected_dim(projection_dim)
        self.projection = None if n_projected is None else nn.Linear(n_projected, projection_dim)
        words = config.words
        self.words = None if words is None else empty_embedding(words.n_words, words.dim)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Encode tokens, (..., n_ids) -> (..., p); see `TokenEncoderConfig` for their ids."""
        features = None if self.char_cnn is None else self.char_cnn(self.char_ids(token_ids))
        return self.combine(features, None if self.words is None else self.rows(token_ids))

    def combine(self, features: Tensor | None, rows: Tensor | None) -> Tensor:
        """Make vectors (..., p) of the char CNN's (..., F) and the rows of words (..., w)."""
        parts = [part for part in (rows, features) if part is not None]
        if not self.adds:
            assert self.projection is not None
            vectors: Tensor = self.projection(torch.cat(parts, dim=-1))
            return vectors
        if features is not None:
            parts[-1] = features if self.projection is None else self.projection(features)
        return parts[0] if len(parts) == 1 else parts[1] + parts[0]

    def char_ids(self, token_ids: Tensor) -> Tensor:
        """Return the ids of the characters, (..., C)."""
        return token_ids if self.words is None else token_ids[..., :-1]

    def rows(self, token_ids: Tensor) -> Tensor:
        """Return the rows of the words, 0 for those outside the table, (..., w)."""
        assert self.words is not None
        numbers = token_ids[..., -1]
        rows: Tensor = self.words(numbers.clamp(min=1) - 1)
        return rows * (numbers > 0).unsqueeze(-1)
