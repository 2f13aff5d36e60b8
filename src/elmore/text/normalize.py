"""Text in, normalized text or tokens with their spans in the raw text out.

A Hangul syllable or an accented letter may be written as one character or as several (as in file
names of macOS); NFC makes them one. A model's config says whether its text was normalized.
"""

import unicodedata
from typing import Literal

from elmore.text.token import Token, Tokenizer

Normalization = Literal["NFC"]


def normalize(text: str, form: Normalization | None) -> str:
    """Return the text in a Unicode normalization form; None: as it is."""
    return text if form is None else unicodedata.normalize(form, text)


def normalizing(tokenizer: Tokenizer, form: Normalization | None) -> Tokenizer:
    """Return a tokenizer that normalizes first."""
    return tokenizer if form is None else NormalizingTokenizer(tokenizer, form)


class NormalizingTokenizer:
    """Tokenizes normalized text; spans are those of the raw text."""

    def __init__(self, tokenizer: Tokenizer, form: Normalization) -> None:
        self.name = tokenizer.name
        self._tokenizer = tokenizer
        self._form = form

    def __call__(self, text: str) -> list[Token]:
        """Return the tokens of the normalized text, with their spans in `text`."""
        if unicodedata.is_normalized(self._form, text):
            return self._tokenizer(text)
        parts = _parts(text, self._form)
        starts: list[int] = []
        ends: list[int] = []
        place = 0
        for raw, normalized in parts:
            starts += [place] * len(normalized)
            place += len(raw)
            ends += [place] * len(normalized)
        return [
            Token(token.text, starts[token.start], ends[token.end - 1])
            for token in self._tokenizer("".join(normalized for _, normalized in parts))
        ]


def _parts(text: str, form: Normalization) -> list[tuple[str, str]]:
    """Split a text into the smallest parts that normalize alone; return each raw and normalized."""
    parts = [("", "")]
    for character in text:
        raw, normalized = parts[-1]
        alone = unicodedata.normalize(form, character)
        together = unicodedata.normalize(form, raw + character)
        if together == normalized + alone and not unicodedata.combining(alone[0]):
            parts.append((character, alone))
        else:
            parts[-1] = (raw + character, together)
    return parts
