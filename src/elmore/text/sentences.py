"""A text in, the character spans of its sentences out (by sentencex, without surrounding space)."""

from typing import NamedTuple


class SentenceSpan(NamedTuple):
    """Where a sentence stands in its text: `text[start:end]`."""

    start: int
    end: int


def split_sentences(text: str, language: str = "en") -> list[SentenceSpan]:
    """Return the sentences of `text` in order; `language` is an ISO code such as "en" or "ko"."""
    from sentencex import get_sentence_boundaries  # noqa: PLC0415  only if used

    # sentencex takes only what UTF-8 can hold; one character for one keeps the places.
    encodable = text.encode("utf-8", "replace").decode("utf-8")
    spans = []
    for boundary in get_sentence_boundaries(language, encodable):
        sentence = text[boundary["start_index"] : boundary["end_index"]]
        start = boundary["start_index"] + len(sentence) - len(sentence.lstrip())
        end = start + len(sentence.strip())
        if start < end:
            spans.append(SentenceSpan(start, end))
    return spans
