"""Words in, rows of ids out: characters of an alphabet, a word's row, or both (ELMoForManyLangs).

A character is a code point, and an alphabet is what the training text had. Ids are one more than
the rows of the alphabet and of the vocabulary, so that 0 is free for padding tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.text.chars import BEGIN_SENTENCE, END_SENTENCE, UNKNOWN
from elmore.text.vocab import Vocab

OUTSIDE = "<oov>"
_MARKS = {BEGIN_SENTENCE: "<bos>", END_SENTENCE: "<eos>"}
# Its code takes them for each other, in training too: a word begins with <eow>.
_BEGIN_WORD, _END_WORD = "<eow>", "<bow>"
_PADDING = "<pad>"
ALPHABET_MARKS = (*_MARKS.values(), OUTSIDE, _PADDING, _END_WORD, _BEGIN_WORD)
"""What an alphabet has besides characters."""


@dataclass(frozen=True)
class AlphabetEncoder:
    """Gives words the ids of their characters, their row of the vocabulary, or both."""

    max_characters: int
    """Ids of a word, the two word marks included; longer words are truncated, rows or not."""
    alphabet: Vocab | None
    """The characters and ALPHABET_MARKS."""
    vocab: Vocab | None
    """The words, OUTSIDE among them, or those of a model that was fine-tuned: see has_marks."""

    def encode(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return (words, max_characters + 1) ids, the last of them the word's row.

        Without a vocabulary there is no such column, without an alphabet no other.
        """
        tokens = [_MARKS.get(word) or word[: self.max_characters - 2] for word in words]
        columns = [] if self.alphabet is None else [_char_ids(tokens, self.alphabet, self)]
        if self.vocab is not None:
            if has_marks(self.vocab):
                pairs = zip(words, tokens, strict=True)
                tokens = [word if word in _MARKS else token for word, token in pairs]
            rows = [self.vocab.row(token) for token in tokens]
            ids = [(self.outside if row is None else row) + 1 for row in rows]
            columns.append(np.array(ids, dtype=np.int64)[:, None])
        return np.concatenate(columns, axis=1)

    @property
    def outside(self) -> int:
        """The row of all words that the vocabulary does not have."""
        assert self.vocab is not None
        return _row(self.vocab, UNKNOWN if has_marks(self.vocab) else OUTSIDE)


def has_marks(vocab: Vocab) -> bool:
    """Return whether a vocabulary is of elmore's training: with <S>, </S> and <UNK>."""
    return all(mark in vocab for mark in (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN))


def _char_ids(
    tokens: Sequence[str], alphabet: Vocab, encoder: AlphabetEncoder
) -> npt.NDArray[np.int64]:
    begin, end, outside, padding = (
        _row(alphabet, mark) + 1 for mark in (_BEGIN_WORD, _END_WORD, OUTSIDE, _PADDING)
    )
    ids = np.full((len(tokens), encoder.max_characters), padding, dtype=np.int64)
    ids[:, 0] = begin
    for row, token in zip(ids, tokens, strict=True):
        characters = [token] if token in _MARKS.values() else token
        found = [alphabet.row(character) for character in characters]
        row[1 : len(found) + 1] = [outside if one is None else one + 1 for one in found]
        row[len(found) + 1] = end
    return ids


def _row(vocab: Vocab, mark: str) -> int:
    row = vocab.row(mark)
    assert row is not None  # held by check_vocab
    return row
