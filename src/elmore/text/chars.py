"""Words in, rows of character ids out: the byte alphabet of every published ELMo.

A word is its UTF-8 bytes between a begin mark and an end mark, padded to a fixed width. Ids here
are the ones of inference: one more than in training, so that 0 is free for padding *tokens*.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.errors import ConfigError

BEGIN_SENTENCE = "<S>"
END_SENTENCE = "</S>"
UNKNOWN = "<UNK>"

_SHIFT = 1
_BEGIN_SENTENCE_CHAR, _END_SENTENCE_CHAR = 256 + _SHIFT, 257 + _SHIFT
_BEGIN_WORD, _END_WORD, _PADDING = 258 + _SHIFT, 259 + _SHIFT, 260 + _SHIFT

N_CHARACTERS = 262  # 256 bytes, 5 marks, and the padding token's 0
_BYTE_IDS = np.arange(256, dtype=np.int64) + _SHIFT


@dataclass(frozen=True)
class CharEncoder:
    """Spells words as rows of `max_characters` ids.

    The words `<S>` and `</S>` are the sentence marks, in published models and so here. Bytes past
    the limit are cut, which may fall inside a character. A lone surrogate has no bytes at all.
    """

    max_characters: int = 50
    """Ids in a row, the two word marks included."""

    def __post_init__(self) -> None:
        if self.max_characters < 3:
            raise ConfigError(
                f"max_characters is {self.max_characters}; a word needs at least 3: "
                "its begin mark, one byte and its end mark"
            )

    def encode(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the ids of `words`, (words, max_characters)."""
        rows = np.full((len(words), self.max_characters), _PADDING, dtype=np.int64)
        rows[:, 0] = _BEGIN_WORD
        for row, word in zip(rows, words, strict=True):
            ids = self._spell(word)
            row[1 : len(ids) + 1] = ids
            row[len(ids) + 1] = _END_WORD
        return rows

    def _spell(self, word: str) -> npt.NDArray[np.int64]:
        if word == BEGIN_SENTENCE:
            return np.array([_BEGIN_SENTENCE_CHAR])
        if word == END_SENTENCE:
            return np.array([_END_SENTENCE_CHAR])
        spelled = word.encode("utf-8", "ignore")[: self.max_characters - 2]
        return _BYTE_IDS[np.frombuffer(spelled, dtype=np.uint8)]
