"""Words in, rows of character ids out: code points of a model's own alphabet (ELMoForManyLangs).

An alphabet is the characters that the training text had, and marks. Ids are one more than its rows,
so that 0 is free for padding tokens.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmore.text.chars import BEGIN_SENTENCE, END_SENTENCE
from elmore.text.vocab import Vocab

OUTSIDE = "<oov>"
MARKS = {BEGIN_SENTENCE: "<bos>", END_SENTENCE: "<eos>"}
"""What it calls the sentence marks, in its alphabet and in its vocabulary."""
# Its code takes them for each other, in training too: a word begins with <eow>.
_BEGIN_WORD, _END_WORD = "<eow>", "<bow>"
_PADDING = "<pad>"
ALPHABET_MARKS = (*MARKS.values(), OUTSIDE, _PADDING, _END_WORD, _BEGIN_WORD)
"""What an alphabet has besides characters."""


def alphabet_ids(
    words: Sequence[str], max_characters: int, alphabet: Vocab
) -> npt.NDArray[np.int64]:
    """Return the ids of words, (words, max_characters), marks included; longer words are cut."""
    begin, end, outside, padding = (
        int(row) + 1 for row in alphabet.encode([_BEGIN_WORD, _END_WORD, OUTSIDE, _PADDING])
    )
    ids = np.full((len(words), max_characters), padding, dtype=np.int64)
    ids[:, 0] = begin
    for row, word in zip(ids, words, strict=True):
        token = MARKS.get(word) or word[: max_characters - 2]
        characters = [token] if token in MARKS.values() else token
        found = [alphabet.row(character) for character in characters]
        row[1 : len(found) + 1] = [outside if one is None else one + 1 for one in found]
        row[len(found) + 1] = end
    return ids
