"""Every token stands where its span says, and English is what Moses makes of it."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from elmore.errors import ConfigError
from elmore.text import Token, tokenizer_by_name

TRICKY = "aB1 .,'\"`-?!&<|\n\t\x00\x01\x1c\x7f\x85\xa0\u0301\u200d\u2028😀가ÉDOTMULTI"
ANY_TEXT = st.text(
    st.characters() | st.characters(categories=["Cs"]) | st.sampled_from(TRICKY), max_size=60
)
ENGLISH = [
    'He said, "I didn\'t pay $3,000.50 to Mr. Smith!"',
    "The U.S. economy grew 2.5% in Jan. 2012, didn't it?",
    "See https://example.org/a?b=c&d=1 or mail me@example.org...",
    "Wait... what?  ''Quoted'' `text' -- and (brackets) [too] <S>.",
    "The dogs' owner can't: they're o'clock-ish; it's 5 o'clock.",
    "\tNo. 7 is e.g. here , tokenized already .\n",
]


def check_spans(text: str, tokens: list[Token]) -> None:
    end = 0
    for token in tokens:
        assert end <= token.start < token.end <= len(text)
        assert re.sub(r"[\x00-\x1f]", "", text[token.start : token.end]) == token.text
        end = token.end


@settings(deadline=None, max_examples=200)
@given(ANY_TEXT)
def test_whitespace_is_split_with_places(text: str) -> None:
    tokens = tokenizer_by_name("whitespace")(text)
    assert [token.text for token in tokens] == text.split()
    assert [text[token.start : token.end] for token in tokens] == text.split()


@pytest.mark.parametrize("sentence", ENGLISH)
def test_english_sentences_are_moses_tokens(sentence: str) -> None:
    tokens = tokenizer_by_name("english")(sentence)
    assert [token.text for token in tokens] == MosesTokenizer("en").tokenize(sentence, escape=False)
    check_spans(sentence, tokens)


@settings(deadline=None, max_examples=400)
@given(ANY_TEXT)
@example("a\x01b \x02 c\x03")
def test_english_tokens_are_where_their_spans_say(text: str) -> None:
    check_spans(text, tokenizer_by_name("english")(text))


@pytest.mark.parametrize(
    ("name", "text"),
    [("whitespace", ""), ("whitespace", " \n"), ("english", ""), ("english", " \0 ")],
)
def test_no_text_has_no_tokens(name: str, text: str) -> None:
    assert tokenizer_by_name(name)(text) == []


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(ConfigError, match=r"'moses'.*whitespace, english"):
        tokenizer_by_name("moses")
