"""The same text gives the same vectors, and each half of a vector sees only its own side."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore import Elmo

WORDS = st.text(max_size=6) | st.sampled_from(["the", "bank", "은행", "<S>", ""])
TEXT = st.lists(WORDS, max_size=9)


def test_twice_is_bit_identical(tiny_elmo: Elmo, threads: int) -> None:
    texts = ["we sat on the river bank .", "은행 계좌", "", "bank"]
    once, again = (tiny_elmo.encode_tokens(texts, layers="all") for _ in range(2))
    for a, b in zip(once, again, strict=True):
        assert a.vectors.tobytes() == b.vectors.tobytes()


@settings(deadline=None, max_examples=60)
@given(
    text=TEXT,
    others=st.lists(TEXT, max_size=8),
    place=st.integers(0, 8),
    budget=st.integers(1, 60),
)
def test_alone_or_in_any_batch(
    tiny_elmo: Elmo, text: list[str], others: list[list[str]], place: int, budget: int
) -> None:
    batch = [*others[:place], text, *others[place:]]
    small = Elmo(tiny_elmo.model, max_batch_tokens=budget)
    (alone,) = tiny_elmo.encode_tokens([text], layers="all")
    found = small.encode_tokens(batch, layers="all")[min(place, len(others))]
    assert found.tokens == tuple(text)
    np.testing.assert_array_equal(found.vectors, alone.vectors)


# Scripts that the bundled models saw little of, whose vectors are up to a hundred times as long.
SCRIPTS = ("一鿿", "가힣", "ЀӾ", "ءي", "😀🙏", "ぁヺ", "az")


def random_words(n: int) -> list[str]:
    rng = random.Random(1)
    made = (
        "".join(
            chr(rng.randint(ord(first), ord(last))) for _ in range(rng.choice([1, 2, 3, 9, 40]))
        )
        for first, last in (rng.choice(SCRIPTS) for _ in range(n))
    )
    return ["東京", *dict.fromkeys(made)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["en", "ko"])
def test_any_script_alone_or_in_a_batch(name: str) -> None:
    elmo = Elmo.from_pretrained(name, tokenizer="whitespace")
    words = random_words(250)
    rng = random.Random(2)
    texts = [[word] for word in words]
    texts += [[rng.choice(words) for _ in range(rng.randint(2, 40))] for _ in range(50)]
    together = elmo.encode_tokens(texts, layers="all")
    assert max(np.abs(found.vectors[0]).max() for found in together) > 5  # not all are small
    for text, found in zip(texts, together, strict=True):
        elmo.cache.clear()
        (alone,) = elmo.encode_tokens([text], layers="all")
        np.testing.assert_array_equal(found.vectors[0], alone.vectors[0])
        np.testing.assert_array_equal(found.vectors, alone.vectors)


@settings(deadline=None, max_examples=40)
@given(before=TEXT, after=TEXT, other=TEXT)
def test_each_direction_sees_only_its_own_side(
    tiny_elmo: Elmo, before: list[str], after: list[str], other: list[str]
) -> None:
    half = tiny_elmo.dim // 2
    here, right, left = tiny_elmo.encode_tokens(
        [[*before, "bank", *after], [*before, "bank", *other], [*other, "bank", *after]],
        layers="all",
    )
    a = here.vectors[:, len(before)]
    b = right.vectors[:, len(before)]
    c = left.vectors[:, len(other)]
    np.testing.assert_array_equal(a[:, :half], b[:, :half])
    np.testing.assert_array_equal(a[:, half:], c[:, half:])


def test_layer_0_knows_no_context_and_the_others_do(tiny_elmo: Elmo) -> None:
    river, money = tiny_elmo.encode_tokens([["river", "bank"], ["money", "bank"]], layers="all")
    difference = np.abs(river.vectors[:, 1] - money.vectors[:, 1]).max(axis=1)
    assert difference[0] == 0
    assert (difference[1:] > 1e-3).all()


def test_a_long_text_equals_the_textbook(tiny_elmo: Elmo) -> None:
    text = [f"word{i % 50}" for i in range(1500)]
    (fast,), (textbook,) = (
        elmo.encode_tokens([text], layers="all")
        for elmo in (tiny_elmo, Elmo(tiny_elmo.model, engine="textbook"))
    )
    np.testing.assert_allclose(fast.vectors, textbook.vectors, atol=1e-5, rtol=0)
