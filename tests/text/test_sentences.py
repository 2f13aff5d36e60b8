"""Sentences stand where their spans say, and no text between them is lost."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.text import split_sentences

ANY_TEXT = st.text(
    st.characters()
    | st.characters(categories=["Cs"])
    | st.sampled_from("aB .?!\n\x00\u0301😀가다。"),
    max_size=60,
)


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        (
            "en",
            '  Dr. Smith paid $3.50 in the U.S. yesterday. "Really?" Yes 😀!\n\n The end ',
            [
                "Dr. Smith paid $3.50 in the U.S. yesterday.",
                '"Really?"',
                "Yes 😀!",
                "The end",
            ],
        ),
        (
            "ko",
            "안녕하세요. 저는 3.5점을 받은 학생입니다.  어디 가세요? 네!",
            ["안녕하세요.", "저는 3.5점을 받은 학생입니다.", "어디 가세요?", "네!"],
        ),
        ("en", "a\ud800b here. The \udfff end.", ["a\ud800b here.", "The \udfff end."]),
        ("ko", "I\xa0.è\x1c", ["I\xa0.è"]),  # on which sentencex panics
        ("en", "", []),
        ("ko", " \n\t", []),
    ],
)
def test_sentences(language: str, text: str, sentences: list[str]) -> None:
    spans = split_sentences(text, language)
    assert [text[span.start : span.end] for span in spans] == sentences


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT, st.sampled_from(["en", "ko"]))
def test_sentences_hold_all_but_the_space_between_them(text: str, language: str) -> None:
    end = 0
    for span in split_sentences(text, language):
        sentence = text[span.start : span.end]
        assert sentence == sentence.strip() != ""
        assert text[end : span.start].strip() == ""
        assert end <= span.start
        end = span.end
    assert text[end:].strip() == ""


def test_long_texts_have_the_same_sentences() -> None:
    sentences = [f"Dr. {'very ' * n}much paid $3.50 for no. {n}." for n in range(200)]
    text = " ".join(sentences)
    assert len(text) > 100_000
    assert [text[span.start : span.end] for span in split_sentences(text)] == sentences


def test_no_character_of_a_sentence_without_end_is_lost() -> None:
    text = "한 문장 " * 5000
    spans = split_sentences(text, "ko")
    assert "".join(text[span.start : span.end] for span in spans).count("문장") == 5000
