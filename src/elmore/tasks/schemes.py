"""Tags of words in, spans out: BIO and BIOES, and the allowed transitions of tags.

B-X begins a span of kind X, I-X continues it; in BIOES E-X ends it and S-X is one of a single
word. O is outside. A file may begin a span with I-X after something else (the IOB1 of old files):
reading takes that for a beginning, as conlleval does.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor

Scheme = Literal["none", "bio", "bioes"]


class Span(NamedTuple):
    """A stretch of words and its kind."""

    kind: str
    start: int
    """Its first word."""
    end: int
    """The word after its last."""


def scheme_of(tags: Sequence[str]) -> Scheme:
    """Return the scheme of a set of tags: "none" if they mark words and not spans."""
    prefixes = {tag.partition("-")[0] for tag in tags if tag != "O"}
    if not prefixes or any("-" not in tag for tag in tags if tag != "O"):
        return "none"
    if prefixes <= {"B", "I"}:
        return "bio"
    return "bioes" if prefixes <= {"B", "I", "E", "S"} else "none"


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Return the spans of a sentence."""
    spans: list[Span] = []
    kind, start = "", 0
    for place, tag in enumerate([*tags, "O"]):
        prefix, _, found = tag.partition("-")
        continues = prefix in ("I", "E") and found == kind
        if kind and not continues:
            spans.append(Span(kind, start, place))
            kind = ""
        if prefix in ("B", "S", "I", "E") and not kind:
            kind, start = found, place
        if kind and prefix in ("E", "S"):
            spans.append(Span(kind, start, place + 1))
            kind = ""
    return spans


def to_bioes(tags: Sequence[str]) -> list[str]:
    """Return the same spans in BIOES."""
    found = ["O"] * len(tags)
    for kind, start, end in spans_of(tags):
        if end == start + 1:
            found[start] = f"S-{kind}"
        else:
            found[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 2), f"E-{kind}"]
    return found


def to_bio(tags: Sequence[str]) -> list[str]:
    """Return the same spans in BIO, each with its B."""
    found = ["O"] * len(tags)
    for kind, start, end in spans_of(tags):
        found[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return found


def allowed_transitions(tags: Sequence[str], scheme: Scheme) -> Tensor:
    """Return which tag may follow which, (K + 2, K + 2), for `Crf`."""
    n_tags = len(tags)
    # It is not among the weights, and so is real also where a network is made on "meta".
    allowed = torch.ones(n_tags + 2, n_tags + 2, dtype=torch.bool, device="cpu")
    if scheme == "none":
        return allowed
    ends_open = {"B", "I"} if scheme == "bioes" else set()
    parts = [tag.partition("-") for tag in [*tags, "O", "O"]]  # the beginning and end are outside
    for i, (before, _, kind) in enumerate(parts):
        for j, (after, _, next_kind) in enumerate(parts):
            inside = after in ("I", "E")
            if inside:
                allowed[i, j] = before in ("B", "I") and kind == next_kind
            elif before in ends_open:
                allowed[i, j] = False  # a span must end before anything else
    return allowed
