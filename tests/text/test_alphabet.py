"""Code points of an alphabet: the layout that ELMoForManyLangs was trained with."""

import numpy as np

from elmore.text import ALPHABET_MARKS, AlphabetEncoder, Vocab

ALPHABET = Vocab([*ALPHABET_MARKS, "가", "나", "\u3000"])
WORDS = Vocab(["<pad>", "<oov>", "<eos>", "<bos>", "가나", "가나가"])
# one more than the rows: 0 is of padding tokens
BOS, EOS, OOV, PAD, BOW, EOW = (ALPHABET.words.index(mark) + 1 for mark in ALPHABET_MARKS)
GA, NA, SPACE = 7, 8, 9


def test_marks_are_swapped_and_sentence_marks_renamed() -> None:
    found = AlphabetEncoder(5, ALPHABET, None).encode(
        ["<S>", "</S>", "가", "", "나힣\u3000", "<bos>"]
    )
    assert (ALPHABET_MARKS[4], ALPHABET_MARKS[5]) == ("<bow>", "<eow>")
    assert found.tolist() == [
        [EOW, BOS, BOW, PAD, PAD],
        [EOW, EOS, BOW, PAD, PAD],
        [EOW, GA, BOW, PAD, PAD],
        [EOW, BOW, PAD, PAD, PAD],
        [EOW, NA, OOV, SPACE, BOW],
        [EOW, OOV, OOV, OOV, BOW],  # truncated, it is a mark no more
    ]


def test_a_truncated_word_is_looked_up_truncated() -> None:
    encoder = AlphabetEncoder(5, ALPHABET, WORDS)
    found = encoder.encode(["가나가나", "가나", "<S>", "나", "\ud800"])
    assert found[:, -1].tolist() == [6, 5, 4, 2, 2]
    assert found[0, :-1].tolist() == [EOW, GA, NA, GA, BOW]


def test_words_alone() -> None:
    found = AlphabetEncoder(5, None, WORDS).encode(["</S>", "가나"])
    np.testing.assert_array_equal(found, [[3], [5]])


def test_no_words() -> None:
    assert AlphabetEncoder(5, ALPHABET, WORDS).encode([]).shape == (0, 6)
