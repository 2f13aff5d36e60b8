"""A text in, the character spans of its sentences out (by sentencex, without surrounding space)."""

import re
from typing import NamedTuple

from elmore.errors import ConfigError


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
    from sentencex import get_sentence_boundaries  # noqa: PLC0415  only if used

    # sentencex takes only valid UTF-8; replacing character by character keeps the spans.
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    spans = []
    for boundary in get_sentence_boundaries(language, encodable):
        sentence = text[boundary["start_index"] : boundary["end_index"]]
        start = boundary["start_index"] + len(sentence) - len(sentence.lstrip())
        end = start + len(sentence.strip())
        if start < end:
            spans.append(SentenceSpan(start, end))
    return spans
