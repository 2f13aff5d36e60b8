"""Words are spelled as published models spell them: the oracle's ids, and 1 added to each.

Our own models differ in two ways: no character is cut in two, and Hangul may be spelled in jamo.
"""

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.bilm_config import CharCnnConfig, CharEncoding
from elmore.errors import ConfigError
from elmore.text.chars import byte_ids
from tests.oracle.elmo import char_ids

ANY_WORD = st.text(st.characters() | st.characters(categories=["Cs"]))
BEGIN, END, PADDING = 259, 260, 261


def spelled(word: str, max_characters: int = 50, encoding: CharEncoding = "bilm-tf") -> list[int]:
    rows = byte_ids([word], max_characters, encoding)
    assert rows.dtype == np.int64
    return rows[0].tolist()


@settings(deadline=None, max_examples=200)
@given(st.lists(ANY_WORD), st.sampled_from([3, 4, 5, 10, 50, 64]))
def test_any_words_are_spelled_as_by_the_oracle(words: list[str], max_characters: int) -> None:
    rows = byte_ids(words, max_characters, "bilm-tf")
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
        CharCnnConfig(4, ((1, 4),), 1, "relu", max_characters=max_characters)


@settings(deadline=None, max_examples=200)
@given(ANY_WORD, st.sampled_from([3, 4, 5, 10, 50]))
def test_our_own_models_cut_between_characters(word: str, max_characters: int) -> None:
    readable = word.encode("utf-8", "ignore").decode("utf-8")
    while len(readable.encode("utf-8")) > max_characters - 2:
        readable = readable[:-1]
    if word not in ("<S>", "</S>"):
        assert spelled(word, max_characters, "bytes") == spelled(readable, max_characters)


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters() | st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3)))
def test_jamo_are_those_of_unicode(word: str) -> None:
    jamo = {chr(0x1100 + i): 262 + i for i in range(19)}
    jamo |= {chr(0x1161 + i): 262 + 19 + i for i in range(21)}
    jamo |= {chr(0x11A7 + i): 262 + 19 + 21 + i for i in range(28)}  # the first is the lack of one
    ids: list[int] = []
    for character in word:
        if "가" <= character <= "힣":
            letters = unicodedata.normalize("NFD", character)
            ids += [jamo[letter] for letter in letters.ljust(3, "\u11a7")]
        else:
            ids += [1 + byte for byte in character.encode("utf-8", "ignore")]
    if word not in ("<S>", "</S>"):
        width = len(ids) + 2
        assert spelled(word, max(3, width), "jamo")[:width] == [BEGIN, *ids, END]


def test_a_syllable_is_as_long_in_jamo_as_in_bytes() -> None:
    assert spelled("x" + "한" * 16, 50, "jamo") == spelled("x" + "한" * 15, 50, "jamo")
    assert spelled("가", 5, "jamo") == [BEGIN, 262, 262 + 19, 262 + 19 + 21, END]


@pytest.mark.parametrize("encoding", ["bytes", "jamo", "bilm-tf"])
def test_the_network_has_a_row_for_each_character(encoding: CharEncoding) -> None:
    n_rows = CharCnnConfig(4, ((1, 4),), 1, "relu", char_encoding=encoding).n_characters
    highest = byte_ids(["힣", "<S>", "\U0010ffff"], 5, encoding).max()
    assert highest == (n_rows - 1 if encoding == "jamo" else 261)
