"""Text in, normalized text or tokens with their spans in the raw text out.

A Hangul syllable or an accented letter may be written as one character or as several (as in file
names of macOS); NFC makes them one. An uncased model reads lower case only. A model's config says
how its text was normalized, and whatever it reads is normalized so.
"""

import re
import unicodedata
from itertools import groupby, pairwise
from typing import Literal

from elmore.text.token import Token, Tokenizer

Normalization = Literal["NFC", "uncased"]
"""NFC; or NFC in lower case."""

_MARKS = ("<S>", "</S>", "<UNK>")  # the words of a vocabulary that are no text

_LONG_STRETCH = re.compile(r"[^\x00-\u02ff]{1000,}")  # no character below is a combining mark


def normalize(text: str, form: Normalization | None) -> str:
    """Return the text in a normalization; None: as it is."""
    if form is None:
        return text
    composed = _nfc(text)
    if form == "NFC" or composed in _MARKS:
        return composed
    return _nfc(_lowercase(composed))


def normalizing(tokenizer: Tokenizer, form: Normalization | None) -> Tokenizer:
    """Return a tokenizer that normalizes first."""
    return tokenizer if form is None else NormalizingTokenizer(tokenizer, form)


def without_normalizing(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer that a normalizing one gives its text to."""
    while isinstance(tokenizer, NormalizingTokenizer):
        tokenizer = tokenizer.tokenizer
    return tokenizer


class NormalizingTokenizer:
    """Tokenizes normalized text; spans are those of the raw text."""

    def __init__(self, tokenizer: Tokenizer, form: Normalization) -> None:
        self.name = tokenizer.name
        self.tokenizer = tokenizer
        self._form = form

    def __call__(self, text: str) -> list[Token]:
        """Return the tokens of the normalized text, with their spans in `text`."""
        normalized = normalize(text, self._form)
        if normalized == text:
            return self.tokenizer(text)
        if len(normalized) == len(text) and normalized == _lowercase(text):
            return self.tokenizer(normalized)  # each character became one, in its place
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
            for token in self.tokenizer("".join(normalized for _, normalized in parts))
        ]


def _nfc(text: str) -> str:
    # unicodedata sorts marks in time that is quadratic in the length of their run. What is sorted
    # already, it only looks at.
    return unicodedata.normalize("NFC", _LONG_STRETCH.sub(_sort_marks, text))


def _lowercase(text: str) -> str:
    """Lowercase each character by itself: str.lower() looks at what surrounds a sigma."""
    return text.replace("Σ", "σ").lower()


def _parts(text: str, form: Normalization) -> list[tuple[str, str]]:
    """Split a text where normalizing does not reach across; return each part raw and normalized."""
    starts = [0]
    before = ""  # the last character so far, normalized, if the next one may combine with it
    for place, character in enumerate(text):
        alone = unicodedata.normalize("NFC", character)
        if unicodedata.combining(alone[0]):
            before = ""  # marks stay with what precedes them, and nothing combines across them
            continue
        together = unicodedata.normalize("NFC", before + character)
        if not before or together == before + alone:
            starts.append(place)
        before = "" if unicodedata.combining(together[-1]) else together[-1]
    raw = (text[start:end] for start, end in pairwise([*starts, len(text)]))
    return [(part, normalize(part, form)) for part in raw]


def _sort_marks(stretch: re.Match[str]) -> str:
    """Return a stretch decomposed, its combining marks in canonical order."""
    characters = [c for each in stretch.group() for c in unicodedata.normalize("NFD", each)]
    runs = groupby(characters, lambda c: unicodedata.combining(c) > 0)
    return "".join(
        "".join(sorted(run, key=unicodedata.combining) if are_marks else run)
        for are_marks, run in runs
    )
