"""Words are spelled as published models spell them: the oracle's ids, and 1 added to each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.errors import ConfigError
from elmore.text import CharEncoder
from tests.oracle.elmo import char_ids

ANY_WORD = st.text(st.characters() | st.characters(categories=["Cs"]))
BEGIN, END, PADDING = 259, 260, 261


def spelled(word: str, max_characters: int = 50) -> list[int]:
    rows = CharEncoder(max_characters).encode([word])
    assert rows.dtype == np.int64
    return rows[0].tolist()


@settings(deadline=None, max_examples=200)
@given(st.lists(ANY_WORD), st.sampled_from([3, 4, 5, 10, 50, 64]))
def test_any_words_are_spelled_as_by_the_oracle(words: list[str], max_characters: int) -> None:
    rows = CharEncoder(max_characters).encode(words)
    expected = [[1 + i for i in char_ids(word, max_characters)] for word in words]
    assert rows.shape == (len(words), max_characters)
    assert rows.tolist() == expected


@pytest.mark.parametrize(
    ("word", "characters"),
    [
        ("<S>", [257]),
        ("</S>", [258]),
        ("", []),
        ("\ud800", []),
        ("\0", [1]),
        ("<s>", [1 + b for b in b"<s>"]),
        ("<UNK>", [1 + b for b in b"<UNK>"]),
        ("e\u0301", [1 + b for b in b"e\xcc\x81"]),
        ("x" * 5000, [1 + ord("x")] * 48),
        ("한" * 16, [1 + b for b in b"\xed\x95\x9c"] * 16),  # just fits
        ("x" + "한" * 16, [1 + b for b in b"x" + b"\xed\x95\x9c" * 15 + b"\xed\x95"]),  # cut inside
    ],
)
def test_words_of_note(word: str, characters: list[int]) -> None:
    ids = [BEGIN, *characters, END]
    assert spelled(word) == ids + [PADDING] * (50 - len(ids))


def test_a_mark_fits_into_the_shortest_row() -> None:
    assert spelled("<S>", 3) == [BEGIN, 257, END]
    assert spelled("ab", 3) == [BEGIN, 1 + ord("a"), END]


@pytest.mark.parametrize("max_characters", [2, 0, -1])
def test_a_row_too_short_for_a_letter_is_refused(max_characters: int) -> None:
    with pytest.raises(ConfigError, match=f"max_characters is {max_characters}; .*at least 3"):
        CharEncoder(max_characters)
