"""Uncased text: NFC in lower case, the same whole and in parts, with the places of the raw text."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmore.text import normalize, normalizing, tokenizer_by_name

LETTERS = st.sampled_from("aAÉéΣσςİIıßẞǅJ\u030c\u0301\u0323\u0307K\u212b가\u1100\u1161 .")
TEXT = st.text(LETTERS | st.characters(), max_size=30)


@settings(deadline=None, max_examples=500)
@given(TEXT)
@example("J\u030c")  # which has no capital of one character
@example("I\u0323\u0307 İ\u0323")
def test_uncased_words_are_where_they_were(text: str) -> None:
    tokens = normalizing(tokenizer_by_name("whitespace"), "uncased")(text)
    assert [token.text for token in tokens] == normalize(text, "uncased").split()
    for token in tokens:
        assert normalize(text[token.start : token.end], "uncased") == token.text


@settings(deadline=None, max_examples=500)
@given(TEXT)
def test_uncased_text_stays_as_it_is(text: str) -> None:
    uncased = normalize(text, "uncased")
    assert normalize(uncased, "uncased") == uncased
    assert normalize(unicodedata.normalize("NFD", text), "uncased") == uncased


@pytest.mark.parametrize(
    ("text", "expected"),
    [("The ΣΟΦΟΣ", "the σοφοσ"), ("ÉTÉ E\u0301", "été é"), ("<S>", "<S>"), ("<S> A", "<s> a")],
)
def test_uncased_text(text: str, expected: str) -> None:
    assert normalize(text, "uncased") == expected
