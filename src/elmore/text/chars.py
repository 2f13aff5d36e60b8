"""Words in, rows of character ids out: the byte alphabet of every published ELMo, and Hangul's.

A word is its UTF-8 bytes between a begin mark and an end mark, padded to a fixed width. Ids here
are the ones of inference: one more than in training, so that 0 is free for padding *tokens*.

With jamo, a Hangul syllable is not its three UTF-8 bytes but its three letters (initial, vowel,
final or none), which have ids of their own after the bytes and marks. The length is the same, and
syllables that share a letter share an id.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import CharEncoding

BEGIN_SENTENCE = "<S>"
END_SENTENCE = "</S>"
UNKNOWN = "<UNK>"

_SHIFT = 1
_BEGIN_SENTENCE_CHAR, _END_SENTENCE_CHAR = 256 + _SHIFT, 257 + _SHIFT
_BEGIN_WORD, _END_WORD, _PADDING = 258 + _SHIFT, 259 + _SHIFT, 260 + _SHIFT
N_BYTE_IDS = 262
"""256 bytes, 5 marks, and the padding token's 0."""

_FIRST_SYLLABLE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_N_VOWELS, _N_LAST = 21, 28  # Unicode numbers syllables by (first, vowel, last)
_FIRST = N_BYTE_IDS
_VOWEL = _FIRST + 19
_LAST = _VOWEL + _N_VOWELS


def byte_ids(
    words: Sequence[str], max_characters: int = 50, encoding: CharEncoding = "bytes"
) -> npt.NDArray[np.int64]:
    """Return the ids of words, (words, max_characters), marks included.

    The words `<S>` and `</S>` are the sentence marks, as in published models. Longer words are
    truncated between two characters; as in bilm-tf, possibly inside of one. A lone surrogate has no
    bytes.
    """
    rows = np.full((len(words), max_characters), _PADDING, dtype=np.int64)
    rows[:, 0] = _BEGIN_WORD
    for row, word in zip(rows, words, strict=True):
        ids = _ids_of(word, max_characters - 2, encoding)
        row[1 : len(ids) + 1] = ids
        row[len(ids) + 1] = _END_WORD
    return rows


def _ids_of(word: str, n_fit: int, encoding: CharEncoding) -> npt.NDArray[np.integer]:
    if word == BEGIN_SENTENCE:
        return np.array([_BEGIN_SENTENCE_CHAR])
    if word == END_SENTENCE:
        return np.array([_END_SENTENCE_CHAR])
    utf8 = word.encode("utf-8", "ignore")
    if len(utf8) > n_fit:
        utf8 = utf8[:n_fit]
        if encoding != "bilm-tf":
            utf8 = utf8.decode("utf-8", "ignore").encode("utf-8")
    if encoding == "jamo":
        return _jamo_ids(utf8.decode("utf-8"))
    return np.frombuffer(utf8, dtype=np.uint8) + np.int64(_SHIFT)


def _jamo_ids(word: str) -> npt.NDArray[np.int64]:
    """Return the ids of Hangul letters, and of the bytes of all other characters."""
    ids: list[int] = []
    for character in word:
        syllable = ord(character) - _FIRST_SYLLABLE
        if 0 <= syllable <= _LAST_SYLLABLE - _FIRST_SYLLABLE:
            first_and_vowel, last = divmod(syllable, _N_LAST)
            first, vowel = divmod(first_and_vowel, _N_VOWELS)
            ids += (_FIRST + first, _VOWEL + vowel, _LAST + last)
        else:
            ids += (byte + _SHIFT for byte in character.encode("utf-8"))
    return np.array(ids, dtype=np.int64)
