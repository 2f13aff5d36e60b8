"""What users give in, tokens out: normalized and tokenized once."""

import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmore.errors import DataError, ElmoreWarning, shown
from elmore.formats import Pretrained
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    Normalization,
    Tokenizer,
    normalize,
    normalizing,
    tokenizer_by_name,
)
from elmore.text.korean import KoreanTokenizer, KoreanVocabularyTokenizer, has_mecab

Texts = Sequence[str | Sequence[str]]
"""Raw strings, which are tokenized, or lists of tokens, which are not."""


@dataclass(frozen=True)
class TokenizedText:
    """The words of one text, normalized."""

    tokens: tuple[str, ...]
    """The words."""
    spans: tuple[tuple[int, int], ...] | None
    """Their character spans in the raw text; None where tokens were given."""


def choose_tokenizer(model: Pretrained, tokenizer: str | Tokenizer | None) -> Tokenizer:
    """Return the tokenizer that a user names or gives; None: the model's own.

    It normalizes as the model does. Where MeCab is missing, a Korean model's own is replaced by the
    nearest one.
    """
    if tokenizer is None:
        tokenizer = model.tokenizer
        if tokenizer == KoreanTokenizer.name and not has_mecab() and model.vocab is not None:
            tokenizer = KoreanVocabularyTokenizer.name
            warnings.warn(
                "MeCab is not installed, so Korean is tokenized by the model's vocabulary, which "
                "is almost the same; pip install 'elmore[ko]' tokenizes it as in training",
                ElmoreWarning,
                stacklevel=4,  # who called Elmo.from_pretrained
            )
    if isinstance(tokenizer, str):
        tokenizer = tokenizer_by_name(tokenizer, model.vocab)
    return normalizing(tokenizer, model.normalization)


def tokenize(
    texts: Texts, tokenizer: Tokenizer, normalization: Normalization | None
) -> list[TokenizedText]:
    """Tokenize the raw strings among the texts, and normalize the tokens of the others.

    The tokenizer normalizes its texts itself.
    """
    return [
        _tokenize_one(text, place, tokenizer, normalization)
        for place, text in enumerate(as_list(texts, "texts"))
    ]


def as_list(given: Any, what: str) -> list[Any]:
    """Return texts, or what else there are many of, as a list; refuse what has none in an order."""
    if hasattr(given, "columns"):  # of which a list would be the names of its columns
        raise DataError(f"the {what} are a table; give one of its columns, such as table['text']")
    if isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable):
        raise DataError(f"the {what} are {shown(given)}; expected a list, such as [one, another]")
    return list(given)


def with_marks(text: TokenizedText) -> TokenizedText:
    """Add the sentence marks, with empty spans at the ends of the text."""
    tokens = (BEGIN_SENTENCE, *text.tokens, END_SENTENCE)
    if text.spans is None:
        return TokenizedText(tokens, None)
    end = text.spans[-1][1] if text.spans else 0
    return TokenizedText(tokens, ((0, 0), *text.spans, (end, end)))


def _tokenize_one(
    text: str | Sequence[str],
    place: int,
    tokenizer: Tokenizer,
    normalization: Normalization | None,
) -> TokenizedText:
    if isinstance(text, str):
        found = tokenizer(text)
        return TokenizedText(
            tuple(token.text for token in found), tuple((token.start, token.end) for token in found)
        )
    tokens = (normalize(token, normalization) for token in given_tokens(text, f"text {place}"))
    return TokenizedText(tuple(tokens), None)


def given_tokens(text: object, name: str) -> tuple[str, ...]:
    """Return the tokens of a text that is no string; `name` is what an error calls it."""
    if isinstance(text, bytes) or not isinstance(text, Sequence | np.ndarray):
        raise DataError(
            f"{name} is of type {type(text).__name__}; expected a string or a list of tokens"
        )
    for token in text:
        if not isinstance(token, str):
            raise DataError(f"{name} has the token {shown(token)}; expected strings only")
    return tuple(text)
