"""Texts are checked, and on the way to the network normalized and tokenized exactly once."""

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest

from elmore import Elmo
from elmore.embed import CorpusOptions, calibrate, embed_lines
from elmore.errors import DataError
from elmore.text import Token, WhitespaceTokenizer
from tests.model.test_context import scoring_model

NORMALIZE = import_module("elmore.text.normalize")  # elmore.text has a function of that name
LINES = ["the river bank of a café .", "", "은행 계좌", "bank"]


class CountingTokenizer(WhitespaceTokenizer):
    """Counts the characters that it is given."""

    def __init__(self) -> None:
        self.n_characters = 0

    def __call__(self, text: str) -> list[Token]:
        self.n_characters += len(text)
        return super().__call__(text)


def nothing(*_: Any) -> None:
    pass


def embed(elmo: Elmo, **options: Any) -> None:
    list(embed_lines(elmo, LINES, CorpusOptions(**options), nothing))


WAYS: dict[str, Callable[[Elmo], Any]] = {
    "encode_tokens": lambda elmo: elmo.encode_tokens(LINES),
    "encode": lambda elmo: elmo.encode(LINES),
    "scores": lambda elmo: elmo.scores(LINES),
    "ids": lambda elmo: elmo.ids(LINES),
    "session": lambda elmo: elmo.session().encode_tokens(LINES),
    "fill": lambda elmo: elmo.fill(LINES[:1], word=1),
    "a corpus": embed,
    "a pooled corpus": lambda elmo: embed(elmo, pooling="mean"),
    "a corpus of sentences": lambda elmo: embed(elmo, split_sentences="en"),
    "calibrate": lambda elmo: calibrate(elmo, elmo.sentence_reader().sentences(LINES)),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_line_is_normalized_and_tokenized_once(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_normalized = 0

    def count(change: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        def counted(form: Any, text: str) -> Any:
            nonlocal n_normalized
            n_normalized += len(text)
            return change(form, text)

        return counted

    counting = SimpleNamespace(
        normalize=count(unicodedata.normalize), is_normalized=count(unicodedata.is_normalized)
    )
    monkeypatch.setattr(NORMALIZE, "unicodedata", counting)
    tokenizer = CountingTokenizer()
    elmo = Elmo(replace(scoring_model(), normalization="NFC"), tokenizer=tokenizer)
    WAYS[way](elmo)
    n_characters = sum(map(len, LINES[:1] if way == "fill" else LINES))
    assert (n_normalized, tokenizer.n_characters) == (n_characters, n_characters)


def test_given_tokens_are_normalized_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def normalize(form: Any, text: str) -> str:
        seen.append(text)
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(NORMALIZE, "unicodedata", SimpleNamespace(normalize=normalize))
    elmo = Elmo(replace(scoring_model(), normalization="NFC"))
    tokens = ["a", "cafe\u0301", "."]
    (found,) = elmo.encode_tokens([tokens])
    assert found.tokens == ("a", "caf\u00e9", ".")
    elmo.fill([tokens], word=0)
    assert seen == 2 * tokens


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one string", "the texts are .one string.; expected a list, such as"),
        (None, "the texts are None; expected a list, such as"),
        (b"a b", "the texts are b'a b'; expected a list, such as"),
        ({"text": ["a"]}, "expected a list, such as"),
        ({"a", "b"}, "expected a list, such as"),
        (SimpleNamespace(columns=["text"]), "the texts are a table; give one of its columns"),
        ([3], "text 0 is of type int"),
        (["a", b"bytes"], "text 1 is of type bytes"),
        ([["a", None]], "text 0 has the token None"),
    ],
)
def test_texts_that_are_none(tiny_elmo: Elmo, texts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tiny_elmo.encode_tokens(texts)
