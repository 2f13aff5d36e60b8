"""The work of a tokenizer grows with a line's length and no faster; counted, not timed."""

import random
import re
import sys
import unicodedata
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.text import normalize as normalize_text
from elmore.text import normalizing, tokenizer_by_name
from elmore.text.normalize import _parts

COMBINING = "ea\u0301\u0323\u0344\u0f73\u1100\u1161\u11a8가각\u09c7\u09be\u0958\u0f43\u30ab\u3099"


def parts_by_definition(text: str) -> list[tuple[str, str]]:
    """Each character joins the part before it, unless the two are the same apart."""
    parts = [("", "")]
    for character in text:
        raw, normalized = parts[-1]
        alone = unicodedata.normalize("NFC", character)
        together = unicodedata.normalize("NFC", raw + character)
        if together == normalized + alone and not unicodedata.combining(alone[0]):
            parts.append((character, alone))
        else:
            parts[-1] = (raw + character, together)
    return parts


@given(st.text(st.sampled_from(COMBINING) | st.characters(), max_size=12))
@settings(deadline=None, max_examples=500)
def test_parts_are_those_of_the_definition(text: str) -> None:
    assert _parts(text, "NFC") == parts_by_definition(text)


def test_long_runs_of_marks_are_normalized_alike() -> None:
    rng = random.Random(0)
    for _ in range(20):
        text = "".join(rng.choices(COMBINING + "\u0301\u0323" * 20, k=3000))
        assert normalize_text(text, "NFC") == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize(
    "text", ["e" + "\u0301" * 4000, "\u0301\u0323" * 2000, "\u1100\u1161\u11a8" * 1500]
)
def test_normalizing_reads_each_character_a_few_times(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_read = 0

    def counted(form: Any, given: str) -> str:
        nonlocal n_read
        n_read += len(given)
        return unicodedata.normalize(form, given)

    counting = SimpleNamespace(normalize=counted, combining=unicodedata.combining)
    monkeypatch.setattr(sys.modules["elmore.text.normalize"], "unicodedata", counting)
    tokens = normalizing(tokenizer_by_name("whitespace"), "NFC")(text)
    assert len(text) < n_read <= 8 * len(text)
    assert [(token.start, token.end) for token in tokens] == [(0, len(text))]


@given(
    st.text(
        st.sampled_from("사과를 먹었다.ㅋ a漢\n\0\u3000")
        | st.characters(exclude_categories=["Cs"]),
        max_size=40,
    )
)
@settings(deadline=None, max_examples=300)
def test_morphemes_are_where_mecab_says(text: str) -> None:
    mecab = pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    given_to_mecab = re.sub(r"[\s\0]", " ", text).lstrip(" ")
    shift = len(text) - len(given_to_mecab)
    expected = [
        (morpheme.span.start + shift, morpheme.span.end + shift)
        for morpheme in mecab.MeCab().parse(given_to_mecab)
    ]
    found = tokenizer_by_name("korean")(text)
    assert [(token.start, token.end) for token in found] == expected
