"""A text in, the character spans of its sentences out (by sentencex, without surrounding space)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from elmore.errors import ConfigError

_MAX_WINDOW = 4000  # characters that sentencex gets: its time may grow as their square


class SentenceSpan(NamedTuple):
    """The character span of a sentence: `text[start:end]`."""

    start: int
    end: int


def check_language(language: str) -> None:
    """Refuse what is not a language code, which sentencex would treat as English."""
    if not re.fullmatch(r"[a-z]{2,3}(-[a-z]+)*", language):
        raise ConfigError(
            f"split_sentences is {language!r}; expected a language code, such as en or ko"
        )


def split_sentences(text: str, language: str = "en") -> list[SentenceSpan]:
    """Return the sentences of `text` in order; `language` is an ISO code such as "en" or "ko"."""
    # sentencex takes only valid UTF-8; replacing character by character keeps the spans.
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    spans = []
    for first, last in _sentences(encodable, language):
        sentence = text[first:last]
        start = first + len(sentence) - len(sentence.lstrip())
        end = start + len(sentence.strip())
        if start < end:
            spans.append(SentenceSpan(start, end))
    return spans


def _sentences(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Find sentences window by window; each window begins with the last sentence of another.

    A longer sentence is split.
    """
    begin = 0
    while begin < len(text):
        end = begin + _MAX_WINDOW
        found = _boundaries(text[begin:end], language)
        if end < len(text) and len(found) > 1:
            found.pop()  # it may go on
            end = begin + found[-1][1]
        for first, last in found:
            yield begin + first, begin + last
        begin = end


def _boundaries(text: str, language: str) -> list[tuple[int, int]]:
    """Return where sentencex finds sentences.

    It panics on some texts with spaces of several bytes, which are replaced then.
    """
    from sentencex import get_sentence_boundaries  # noqa: PLC0415  only if used

    try:
        found = get_sentence_boundaries(language, text)
    except BaseException as error:  # a panic of Rust is no Exception
        plain = re.sub(r"[^\S\n]", " ", text)
        if type(error).__name__ != "PanicException" or plain == text:
            raise
        return _boundaries(plain, language)
    return [(one["start_index"], one["end_index"]) for one in found]
