"""The one-pass Moses rules against sacremoses: equal on every text but its own placeholder."""

import lzma
import re
from itertools import product

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from elmore.text.moses import MosesWords
from elmore.text.tokenizers import EnglishTokenizer
from tests.conftest import SHARED

WORDS = ["No", "pp", "U.S", "Dr", "p.m", "e.g", "DOT", "rock'n'roll", "don't", "1990's", "5,3"]
MARKS = [".", "..", "...", ",", ",,", "'", "''", "-", "--", "`", "``", '"', "(", ")", "/", "&", "#"]
LETTERS = ["a", "s", "B", "U", "5", "12", "é", "e\u0301", "ß", "가", "漢", "٣", "Ⅷ", "²", "½", "ᏸ"]
SIGNS = list("“”’—…€$\u0301\u094d\u200b\ufeff😀𝐚\ud800")
SPACES = [" ", " ", " ", "  ", "\n", "\t", "\x00", "\x07", "\x1b", "\x1c", "\x7f", "\x85", "\xa0"]
PIECES = WORDS + MARKS + LETTERS + SIGNS + SPACES

find_words = MosesWords()
moses = MosesTokenizer("en")


def words(text: str) -> list[str]:
    return [word for word, _, _ in find_words(text)]


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
    assume("DOTMULTI" not in without_controls(text))
    assert_equal(text)


@given(text=texts)
@settings(max_examples=200, deadline=None)
def test_places_are_in_order_and_hold_all_that_is_not_dropped(text: str) -> None:
    position = 0
    for word, start, end in find_words(text):
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


def test_the_tokenizer_gives_these_words_and_places() -> None:
    text = " It cost 5,300\x07 in the U.S. (1990's)."
    tokens = EnglishTokenizer()(text)
    assert [tuple(token) for token in tokens] == find_words(text)
    assert " ".join(words(text)) == "It cost 5,300 in the U.S. ( 1990 's ) ."
    assert text[tokens[2].start : tokens[2].end] == "5,300"


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["enwiki", "books", "kowiki"])
def test_real_text_is_equal(corpus: str) -> None:
    path = SHARED / f"data/corpora/{corpus}.txt.xz"
    if not path.exists():
        pytest.skip(f"{corpus} is not here (shared/data/corpora beside the project)")
    n_tokens = 0
    with lzma.open(path, "rt", encoding="utf-8") as paragraphs:
        for paragraph in paragraphs:
            n_tokens += assert_equal(paragraph)
            if n_tokens > 40_000:
                break
    assert n_tokens > 40_000
