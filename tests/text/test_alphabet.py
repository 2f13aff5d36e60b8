"""Code points of an alphabet: the layout that ELMoForManyLangs was trained with."""

from elmore.text import ALPHABET_MARKS, Vocab
from elmore.text.alphabet import alphabet_ids

ALPHABET = Vocab([*ALPHABET_MARKS, "가", "나", "\u3000"])
# one more than the rows: 0 is of padding tokens
BOS, EOS, OOV, PAD, BOW, EOW = (ALPHABET.words.index(mark) + 1 for mark in ALPHABET_MARKS)
GA, NA, SPACE = 7, 8, 9


def test_marks_are_swapped_and_sentence_marks_renamed() -> None:
    found = alphabet_ids(["<S>", "</S>", "가", "", "나힣\u3000", "<bos>"], 5, ALPHABET)
    assert (ALPHABET_MARKS[4], ALPHABET_MARKS[5]) == ("<bow>", "<eow>")
    assert found.tolist() == [
        [EOW, BOS, BOW, PAD, PAD],
        [EOW, EOS, BOW, PAD, PAD],
        [EOW, GA, BOW, PAD, PAD],
        [EOW, BOW, PAD, PAD, PAD],
        [EOW, NA, OOV, SPACE, BOW],
        [EOW, OOV, OOV, OOV, BOW],  # truncated, it is a mark no more
    ]


def test_no_words() -> None:
    assert alphabet_ids([], 5, ALPHABET).shape == (0, 5)
