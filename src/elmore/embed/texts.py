"""What users give in, tokens out."""

from collections.abc import Sequence
from dataclasses import dataclass

from elmore.errors import DataError
from elmore.text import BEGIN_SENTENCE, END_SENTENCE, Normalization, Tokenizer, normalize

Texts = Sequence[str | Sequence[str]]
"""Raw strings, which are tokenized, or lists of tokens, which are not."""


@dataclass(frozen=True)
class TokenizedText:
    """The words of one text."""

    tokens: tuple[str, ...]
    """The words."""
    spans: tuple[tuple[int, int], ...] | None
    """Where they stand in the raw text; None where tokens were given."""


def tokenize(
    texts: Texts, tokenizer: Tokenizer, normalization: Normalization | None
) -> list[TokenizedText]:
    """Tokenize the raw strings among the texts, and normalize the tokens of the others."""
    if isinstance(texts, str | bytes):
        raise DataError("got one string; give a list of texts, such as [text]")
    return [
        _tokenize_one(text, place, tokenizer, normalization) for place, text in enumerate(texts)
    ]


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
    if isinstance(text, bytes) or not isinstance(text, Sequence):
        raise DataError(
            f"text {place} is of type {type(text).__name__}; expected a string or a list of tokens"
        )
    for token in text:
        if not isinstance(token, str):
            raise DataError(f"text {place} has the token {token!r}; expected strings only")
    return TokenizedText(tuple(normalize(token, normalization) for token in text), None)
