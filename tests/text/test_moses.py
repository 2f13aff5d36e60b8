"""The Moses rules on classes against sacremoses: equal but for its placeholder and for marks."""

import lzma
import re
import unicodedata
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer
from tools.moses_tables import PAGE, page

from elmore.text import moses as rules
from elmore.text.moses import moses_tokens
from tests.conftest import SHARED

WORDS = ["No", "pp", "U.S", "Dr", "p.m", "e.g", "DOT", "rock'n'roll", "don't", "1990's", "5,3"]
MARKS = [".", "..", "...", ",", ",,", "'", "''", "-", "--", "`", "``", '"', "(", ")", "/", "&", "#"]
LETTERS = ["a", "s", "B", "U", "5", "12", "é", "e\u0301", "ß", "가", "漢", "٣", "Ⅷ", "²", "½", "ᏸ"]
SIGNS = list("“”’—…€$\u0301\u094d\u200b\ufeff😀𝐚\ud800")
SPACES = [" ", " ", " ", "  ", "\n", "\t", "\x00", "\x07", "\x1b", "\x1c", "\x7f", "\x85", "\xa0"]
PIECES = WORDS + MARKS + LETTERS + SIGNS + SPACES

moses = MosesTokenizer("en")


def words(text: str) -> list[str]:
    return [token.text for token in moses_tokens(text)]


def parts_of_characters(text: str) -> list[str]:
    """Marks, joiners and letters of flags: what sacremoses tears off."""
    return [each for each in text if rules._class_table()[ord(each)] in "mzr"]


def without_controls(text: str) -> str:
    return re.sub(r"[\x00-\x1f]", "", text)


def assert_equal(text: str) -> int:
    expected = moses.tokenize(text, escape=False)
    assert words(text) == expected
    return len(expected)


# Few pieces at a time meet more often, and it is where rules meet that they can differ.
few_pieces = st.lists(st.sampled_from(PIECES), min_size=2, max_size=6).flatmap(
    lambda pieces: st.lists(st.sampled_from(pieces), max_size=20)
)
texts = st.one_of(
    few_pieces.map("".join), st.lists(st.sampled_from(PIECES), max_size=80).map("".join), st.text()
)


@given(text=texts)
@settings(max_examples=1000, deadline=None)
@example(text="A,B,C 5,300,x ,5 a,,5 5,,,5")
@example(text="rock'n'roll 5'5'5 ' '5 don't 5's 5'a")
@example(text="No. 5 No. x No. X U.S. 5. x. X a.b.")
@example(text="'Mr.'")
@example(text="'. a")
def test_tokens_are_those_of_sacremoses(text: str) -> None:
    assume("DOTMULTI" not in without_controls(text) and not parts_of_characters(text))
    assert_equal(text)


@given(text=texts)
@settings(max_examples=200, deadline=None)
def test_places_are_in_order_and_hold_all_that_is_not_dropped(text: str) -> None:
    position = 0
    for word, start, end in moses_tokens(text):
        assert not re.search(r"[^\s\x00-\x1f]", text[position:start])
        assert without_controls(text[start:end]) == word != ""
        position = end
    assert not re.search(r"[^\s\x00-\x1f]", text[position:])


@pytest.mark.slow
def test_every_short_text_of_the_marks_that_rules_read_is_equal() -> None:
    for length in range(6):
        for characters in product("a5,'. (", repeat=length):
            assert_equal("".join(characters))


@pytest.mark.parametrize("text", ["DOTMULTI", "DOTDOTMULTI.", "xDOTMULTI...", "DOT\x07MULTI a,,5"])
def test_the_placeholder_of_sacremoses_stays_the_word_it_is(text: str) -> None:
    as_another_word = [word.replace("MULTX", "MULTI") for word in words(text.replace("I", "X"))]
    assert words(text) == as_another_word
    assert "MULTI" in "".join(words(text))


def test_these_words_and_places() -> None:
    text = " It cost 5,300\x07 in the U.S. (1990's)."
    tokens = moses_tokens(text)
    assert " ".join(words(text)) == "It cost 5,300 in the U.S. ( 1990 's ) ."
    assert text[tokens[2].start : tokens[2].end] == "5,300"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("o\u0323\u0300re\u0323\u0301 mi", ["o\u0323\u0300re\u0323\u0301", "mi"]),
        (
            "g\u0303uarani, k\u0313\u02b7ak\u0313!",
            ["g\u0303uarani", ",", "k\u0313\u02b7ak\u0313", "!"],
        ),
        ("e\u0301t\u0301.", ["e\u0301t\u0301", "."]),
        ("E\u0301. x", ["E\u0301.", "x"]),  # before lower case, as any word
        ("M\u0301r. X", ["M\u0301r", ".", "X"]),
        ("\u0301a \u0301 b", ["\u0301", "a", "\u0301", "b"]),
        ("a\x07\u0301b", ["a\u0301b"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("\U0001f469\U0001f3fd\u200d\U0001f680ok", ["\U0001f469\U0001f3fd\u200d\U0001f680", "ok"]),
        ("\u2764\ufe0f\u200d\U0001f525\U0001f600", ["\u2764\ufe0f\u200d\U0001f525", "\U0001f600"]),
        (
            "\U0001f1f0\U0001f1f7\U0001f1ef\U0001f1f5",
            ["\U0001f1f0\U0001f1f7", "\U0001f1ef\U0001f1f5"],
        ),
        ("1\ufe0f\u20e3.5", ["1\ufe0f\u20e3.5"]),
    ],
)
def test_characters_of_several_code_points_stay_whole(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(text=texts)
@settings(max_examples=300, deadline=None)
def test_marks_move_no_boundary(text: str) -> None:
    assume(not parts_of_characters(text))
    marked = words(re.sub(r"([^\s\x00-\x1f])", "\\1\u0331\ufe0f", text))
    with patch.multiple(rules, _PREFIXES=frozenset(), _NUMERIC_PREFIXES=frozenset()):
        expected = words(text)  # no abbreviation has marks
    assert [word.replace("\u0331\ufe0f", "") for word in marked] == expected


@pytest.mark.parametrize("text", ["Ọ̀rẹ́ mi, ńkọ́? É. Żółć's 5,3", "Tiếng Việt: đẹp!"])
def test_composed_and_decomposed_letters_have_the_same_tokens(text: str) -> None:
    expected = words(unicodedata.normalize("NFC", text))
    decomposed = words(unicodedata.normalize("NFD", text))
    assert [unicodedata.normalize("NFC", word) for word in decomposed] == expected


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="its marks are of Unicode 14")
def test_the_tables_are_those_of_sacremoses() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["enwiki", "books", "kowiki"])
def test_real_text_is_equal(corpus: str) -> None:
    path = SHARED / f"data/corpora/{corpus}.txt.xz"
    if not path.exists():
        pytest.skip(f"{corpus} is not here (shared/data/corpora beside the project)")
    n_tokens = 0
    with lzma.open(path, "rt", encoding="utf-8") as paragraphs:
        for paragraph in paragraphs:
            if not parts_of_characters(paragraph):
                n_tokens += assert_equal(paragraph)
            if n_tokens > 40_000:
                break
    assert n_tokens > 40_000
