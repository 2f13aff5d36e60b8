"""Spans are read as conlleval reads them, and both schemes say the same."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmore.tasks.schemes import (
    Span,
    allowed_transitions,
    scheme_of,
    spans_of,
    to_bio,
    to_bioes,
)

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
BIOES = [*TAGS, "E-X", "S-X", "E-Y", "S-Y"]


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O O", []),
        ("B-X I-X O", [("X", 0, 2)]),
        ("B-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        ("O I-X I-X", [("X", 1, 3)]),  # IOB1
        ("I-X I-Y", [("X", 0, 1), ("Y", 1, 2)]),
        ("I-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        ("S-X B-Y I-Y E-Y S-X", [("X", 0, 1), ("Y", 1, 4), ("X", 4, 5)]),
        ("E-X", [("X", 0, 1)]),
        ("B-X E-X E-X", [("X", 0, 2), ("X", 2, 3)]),
        ("B-A-B I-A-B", [("A-B", 0, 2)]),
        ("B-X", [("X", 0, 1)]),
        ("", []),
    ],
)
def test_spans(tags: str, spans: list[tuple[str, int, int]]) -> None:
    assert spans_of(tags.split()) == [Span(*span) for span in spans]


@given(st.lists(st.sampled_from(BIOES)))
def test_both_schemes_say_the_same(tags: list[str]) -> None:
    spans = spans_of(tags)
    assert spans_of(to_bio(tags)) == spans_of(to_bioes(tags)) == spans
    assert to_bio(to_bioes(tags)) == to_bio(tags)


@given(st.lists(st.sampled_from(TAGS), min_size=1))
def test_what_a_scheme_writes_it_allows(tags: list[str]) -> None:
    for names, scheme, written in (
        (TAGS, "bio", to_bio(tags)),
        (BIOES, "bioes", to_bioes(tags)),
    ):
        allowed = allowed_transitions(names, scheme)
        rows = [len(names), *(names.index(tag) for tag in written), len(names) + 1]
        assert all(allowed[i, j] for i, j in itertools.pairwise(rows))


@pytest.mark.parametrize(
    ("before", "after", "scheme", "may"),
    [
        ("O", "I-X", "bio", False),
        ("B-Y", "I-X", "bio", False),
        ("B-X", "O", "bio", True),
        ("B-X", "O", "bioes", False),
        ("B-X", "E-X", "bioes", True),
        ("S-X", "I-X", "bioes", False),
        ("E-X", "O", "bioes", True),
        ("E-X", "E-X", "bioes", False),
    ],
)
def test_what_may_follow(before: str, after: str, scheme: str, may: bool) -> None:
    allowed = allowed_transitions(BIOES, scheme)
    assert bool(allowed[BIOES.index(before), BIOES.index(after)]) == may


def test_schemes_are_told_by_their_tags() -> None:
    assert scheme_of(["NOUN", "VERB"]) == "none"
    assert scheme_of(["O"]) == "none"
    assert scheme_of(["O", "B-X", "I-X"]) == "bio"
    assert scheme_of(["O", "I-X"]) == "bio"
    assert scheme_of(["O", "B-X", "S-X"]) == "bioes"
    assert scheme_of(["O", "A-X"]) == "none"
    assert scheme_of(["O", "B-X", "X"]) == "none"
