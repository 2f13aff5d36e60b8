"""Words in, rows of ids out: the characters of each word and its row of the word table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.text.chars import CharEncoder
from elmore.text.vocab import Vocab


@dataclass(frozen=True)
class CharWordEncoder:
    """Gives words their character ids and, in the vocabulary, their row."""

    chars: CharEncoder
    vocab: Vocab

    def encode(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return (words, max_characters + 1) ids; the last is one more than the word's row, or 0.

        A word outside the vocabulary has its characters alone.
        """
        rows = [self.vocab.row(word) for word in words]
        numbers = np.array([0 if row is None else row + 1 for row in rows], dtype=np.int64)
        return np.column_stack([self.chars.encode(words), numbers])
