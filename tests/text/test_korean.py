"""Korean in three ways, each with the places of its tokens; and text that is written in parts."""

import pickle
import re
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmore.errors import ConfigError, MissingExtraError
from elmore.text import Token, normalizing, tokenizer_by_name
from elmore.text.korean import KoreanVocabularyTokenizer

NAMES = ["korean", "korean-eojeol", "korean-syllables"]
TRICKY = "가힣사과를 먹었다.ㅋㅏ\u1100\u1161\u11a8\u0301e漢,1\n\t\0\x1c\x85\xa0\u3000\u200b\ufeff😀"
ANY_TEXT = st.text(
    st.characters() | st.characters(categories=["Cs"]) | st.sampled_from(TRICKY), max_size=40
)
SENTENCE = "사과를 먹었다. 그는 3.5kg을 샀다(2022년, Seoul에서)!"


def words(name: str, text: str) -> str:
    return " ".join(token.text for token in tokenizer_by_name(name)(text))


def test_morphemes_keep_the_spelling_of_the_text() -> None:
    pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    expected = "사과 를 먹 었 다 . 그 는 3 . 5 kg 을 샀 다 ( 2022 년 , Seoul 에서 ) !"
    assert words("korean", SENTENCE) == expected
    assert words("korean", "사과했다") == "사과 했 다"


def test_morphemes_by_a_vocabulary_of_them() -> None:
    by_frequency = [
        "<S>",
        ".",
        "를",
        "다",
        "었",
        "는",
        "그",
        "먹",
        "사과",
        "사",
        "과",
        "은행",
        "나무",
    ]
    tokenizer = tokenizer_by_name("korean-vocabulary", by_frequency)
    found = [token.text for token in tokenizer("그는 사과를 먹었다. 배나무, ABC3년漢字")]
    expected = "그 는 사과 를 먹 었 다 . 배 나무 , ABC 3 년 漢字"
    assert found == expected.split()
    assert tokenizer("사과를")[1] == Token("를", 2, 3)
    assert [token.text for token in tokenizer("쀍뛟")] == ["쀍뛟"]  # nothing tells how to cut it
    with pytest.raises(
        ConfigError, match="korean-vocabulary segments by the vocabulary of a model"
    ):
        tokenizer_by_name("korean-vocabulary")


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT)
def test_a_vocabulary_cuts_every_text_and_loses_nothing(text: str) -> None:
    tokens = tokenizer_by_name("korean-vocabulary", ["사과", "를", "가", "힣사"])(text)
    assert "".join(token.text for token in tokens) == re.sub(r"\s", "", text)
    assert all(text[token.start : token.end] == token.text for token in tokens)


def test_eojeol_stand_between_spaces_and_punctuation() -> None:
    expected = "사과를 먹었다 . 그는 3.5 kg을 샀다 ( 2022년 , Seoul에서 ) !"
    assert words("korean-eojeol", SENTENCE) == expected


def test_syllables_part_hangul_only() -> None:
    expected = "사 과 를 먹 었 다 . 그 는 3.5 kg 을 샀 다 ( 2022 년 , Seoul 에 서 ) !"
    assert words("korean-syllables", SENTENCE) == expected


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=200)
@given(ANY_TEXT)
@example("")
@example(" \n")
@example("\0")
def test_no_character_is_lost_and_each_has_its_place(name: str, text: str) -> None:
    if name == "korean":
        pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    end, kept = 0, ""
    for token in tokenizer_by_name(name)(text):
        assert end <= token.start < token.end <= len(text)
        assert token.text == text[token.start : token.end]
        assert not re.search(r"\s", token.text)
        end, kept = token.end, kept + token.text
    assert kept == re.sub(r"[\s\0]" if name == "korean" else r"\s", "", text)


def test_morphemes_without_the_extra_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mecab", None)
    with pytest.raises(MissingExtraError, match=r"tokenizer korean needs .*elmore\[ko\]"):
        words("korean", SENTENCE)


def test_what_is_missing_can_be_told_by_another_process() -> None:
    error = MissingExtraError("the tokenizer korean", "ko")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_text_in_parts_is_read_as_one_with_places_of_its_own() -> None:
    parts = unicodedata.normalize("NFD", "큰 사과를 caf\xe9")
    tokens = normalizing(tokenizer_by_name("korean-eojeol"), "NFC")(parts)
    assert [token.text for token in tokens] == ["큰", "사과를", "caf\xe9"]
    assert [parts[token.start : token.end] for token in tokens] == parts.split(" ")


def test_a_tokenizer_that_normalizes_keeps_its_name() -> None:
    assert normalizing(tokenizer_by_name("korean-eojeol"), "NFC").name == "korean-eojeol"


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT)
@example("\u1100\u1161\u11a8 \u1100\u1161")
@example("a\u0315\u0300b")  # marks that change places
@example("a\u0f73\u0301")  # a letter that becomes two marks
@example("\u0344")  # a mark that becomes two
def test_places_of_normalized_text_hold_what_was_normalized(text: str) -> None:
    tokens: list[Token] = normalizing(tokenizer_by_name("whitespace"), "NFC")(text)
    assert [token.text for token in tokens] == unicodedata.normalize("NFC", text).split()
    for token in tokens:
        assert unicodedata.normalize("NFC", text[token.start : token.end]) == token.text


def test_a_run_of_thousands_of_letters_is_given_to_mecab_in_parts() -> None:
    pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    tokens = tokenizer_by_name("korean")("사과를 " + "あ" * 5000 + " 먹었다")
    assert "".join(token.text for token in tokens) == "사과를" + "あ" * 5000 + "먹었다"
    assert [token.text for token in tokens][-3:] == ["먹", "었", "다"]
    assert all(token.end - token.start == len(token.text) for token in tokens)


def test_a_vocabulary_tokenizer_remembers_no_long_run() -> None:
    tokenizer = KoreanVocabularyTokenizer(["사과", "를", "가" * 1000])
    tokenizer("사과를 " + "가" * 10_000)
    assert tokenizer._cut.cache_info().currsize == 1
    assert tokenizer._longest == 2
