"""Tokens become the text that people wrote, as far as tokens tell."""

import lzma
from itertools import islice

import pytest

from elmore.senses.detokenize import MarkedText, detokenize, marked_sentence, marked_token
from elmore.senses.index import Occurrence
from elmore.text import tokenizer_by_name
from tests.conftest import SHARED

KOWIKI = SHARED / "data/corpora/kowiki.txt.xz"


@pytest.mark.parametrize(
    "text",
    [
        "나는 아침에 사과를 먹었다.",
        "대통령은 이 사건에 대해 공식 사과를 발표했다.",
        "그는 '사과'와 \"배\"를 가을(9월)에 먹었다, 그리고 갔다.",
        "1999년 3월 2일, 《사과》가 나왔다!",
    ],
)
def test_korean_morphemes(text: str) -> None:
    pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    tokens = [token.text for token in tokenizer_by_name("korean")(text)]
    assert "".join(detokenize(tokens, "korean")) == text
    for place, token in enumerate(tokens):
        shown = marked_sentence(Occurrence(token, tuple(tokens), place), "korean")
        assert shown.before + shown.word + shown.after == text
        assert shown.word == token


def test_only_punctuation_is_joined_to_eojeol() -> None:
    assert "".join(detokenize(["나는", "이", "사과를", "."], "korean-eojeol")) == "나는 이 사과를."


@pytest.mark.parametrize(
    "text",
    [
        "He said: \"It isn't Kim's bank (the old one), is it?\"",
        "The 'bank' - 5% of it - lies on the river; we didn't know.",
    ],
)
def test_english_tokens(text: str) -> None:
    tokens = [token.text for token in tokenizer_by_name("english")(text)]
    assert "".join(detokenize(tokens, "english")) == text


@pytest.mark.parametrize("tokenizer", ["whitespace", "korean-syllables"])
def test_other_tokens_have_spaces(tokenizer: str) -> None:
    assert "".join(detokenize(["는", "다", "."], tokenizer)) == "는 다 ."


def test_a_token_of_a_text_that_is_known() -> None:
    assert marked_token("사과를  먹었다.", ["사과", "를", "먹", "었", "다", "."], 2) == MarkedText(
        "사과를  ", "먹", "었다."
    )
    assert marked_token("a_____ b", ["a", "___", "b"], 1) == MarkedText("a", "_____", " b")
    assert marked_token("a\x01b c", ["ab", "c"], 1) == MarkedText("ab ", "c", "")


@pytest.mark.skipif(not KOWIKI.exists(), reason="Korean Wikipedia is not here (shared/data)")
def test_most_spaces_of_korean_wikipedia_come_back() -> None:
    pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    tokenize = tokenizer_by_name("korean")
    n_right = n_all = 0
    with lzma.open(KOWIKI, "rt", encoding="utf-8") as file:
        for line in islice(file, 400):
            tokens = tokenize(line.strip())
            rebuilt = detokenize([token.text for token in tokens], "korean")
            for before, token, shown in zip(tokens, tokens[1:], rebuilt[1:], strict=False):
                n_right += (before.end == token.start) != shown.startswith(" ")
                n_all += 1
    assert n_all > 5_000
    assert n_right / n_all > 0.88
