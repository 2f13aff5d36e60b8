"""Word ids in, one vector per word out: the token encoders that look words up in a table.

Shapes: C characters, p projection_dim.
"""

from torch import Tensor, nn

from elmore.model.char_cnn import CharCnn, empty_embedding
from elmore.model.config import CharWordConfig, WordTableConfig


class WordTable(nn.Module):
    """Word ids (...,) -> (..., p) vectors: the token encoder of models with no characters."""

    def __init__(self, config: WordTableConfig, projection_dim: int) -> None:
        super().__init__()
        self.embedding = empty_embedding(config.n_words, projection_dim)
        if not self.embedding.weight.is_meta:
            nn.init.normal_(self.embedding.weight)

    def forward(self, word_ids: Tensor) -> Tensor:
        """Look the words up."""
        vectors: Tensor = self.embedding(word_ids)
        return vectors


class CharWordTable(nn.Module):
    """Characters and words, (..., C + 1) ids -> (..., p) vectors.

    The ids of a token are its characters and, last, its row of the table plus 1; 0 is a word
    outside the table, whose vector is the char CNN's alone.
    """

    def __init__(self, config: CharWordConfig, projection_dim: int) -> None:
        super().__init__()
        self.char_cnn = CharCnn(config.char_cnn, projection_dim)
        self.words = empty_embedding(config.n_words, projection_dim)
        if not self.words.weight.is_meta:
            nn.init.zeros_(self.words.weight)  # where static vectors may be filled in

    def forward(self, token_ids: Tensor) -> Tensor:
        """Add each word's row of the table to its char CNN vector."""
        from_characters: Tensor = self.char_cnn(token_ids[..., :-1])
        return from_characters + self.rows(token_ids[..., -1])

    def rows(self, word_ids: Tensor) -> Tensor:
        """Return the rows of words (...,), zero for those outside the table, (..., p)."""
        is_known = (word_ids > 0).unsqueeze(-1)
        rows: Tensor = self.words(word_ids.clamp(min=1) - 1)
        return rows * is_known
