"""Tokens in, the ids that a network reads out: the one layout of every model.

The ids of a token are those of its characters, if the model reads any, and last its row of the word
table plus 1, if there is one; see `TokenEncoderConfig`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import TokenEncoderConfig
from elmore.text.alphabet import MARKS, OUTSIDE, alphabet_ids
from elmore.text.chars import BEGIN_SENTENCE, END_SENTENCE, UNKNOWN, byte_ids
from elmore.text.vocab import Vocab

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class IdEncoder:
    """Gives tokens the ids of their characters, their row of the word table, or both."""

    config: TokenEncoderConfig
    vocab: Vocab | None = None
    """The words of the table; needed where there is one."""
    alphabet: Vocab | None = None
    """The characters and marks of a model with an alphabet."""

    def encode(self, tokens: Sequence[str]) -> Ids:
        """Return the ids of tokens, (tokens, n_ids)."""
        columns = [] if self.config.chars is None else [self.char_ids(tokens)]
        if self.config.words is not None:
            columns.append(self.word_ids(tokens)[:, None])
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)

    def char_ids(self, tokens: Sequence[str]) -> Ids:
        """Return the ids of the characters of tokens, (tokens, max_characters)."""
        chars = self.config.chars
        assert chars is not None
        if chars.char_encoding == "alphabet":
            assert self.alphabet is not None  # held by check_alphabet
            return alphabet_ids(tokens, chars.max_characters, self.alphabet)
        return byte_ids(tokens, chars.max_characters, chars.char_encoding)

    def word_ids(self, tokens: Sequence[str]) -> Ids:
        """Return the row of each token plus 1, or what stands for a word outside the table."""
        words, vocab = self.config.words, self.vocab
        assert words is not None
        assert vocab is not None  # held by check_vocab
        marks = {mark: mark for mark in (BEGIN_SENTENCE, END_SENTENCE)}
        if is_many_langs(vocab):
            marks = MARKS
        known_as = [marks.get(token) or token[: words.max_length] for token in tokens]
        rows = [vocab.row(word) for word in known_as]
        outside = self._outside(known_as[rows.index(None)]) if None in rows else 0
        ids = [outside if row is None else row + 1 for row in rows]
        return np.array(ids, dtype=np.int64)

    @property
    def outside(self) -> int:
        """The id of all words that the table does not have.

        0 where characters are added to it: such a word has its characters alone.
        """
        return self._outside(UNKNOWN)

    def _outside(self, word: str) -> int:
        if self.config.combine == "add" and self.config.chars is not None:
            return 0
        assert self.vocab is not None
        if is_many_langs(self.vocab):
            word = OUTSIDE
        return int(self.vocab.encode([word])[0]) + 1


def is_many_langs(vocab: Vocab) -> bool:
    """Return whether a vocabulary has the marks of ELMoForManyLangs, and not ours."""
    return OUTSIDE in vocab and not has_marks(vocab)


def has_marks(vocab: Vocab) -> bool:
    """Return whether a vocabulary is of elmore's training: with <S>, </S> and <UNK>."""
    return all(mark in vocab for mark in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))
