"""Words for a place: their probabilities are Bayes' rule on what each side says."""

from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed import BLANK, Filler
from elmore.errors import ConfigError, DataError, FormatError
from tests.model.test_context import WORDS, scoring_model

LEFT_OUT = {"<S>", "</S>", "<UNK>"}


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo(scoring_model())


def log_softmax(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum())


def by_hand(elmo: Elmo, tokens: list[str], place: int, sides: str) -> dict[str, float]:
    """The rule written out in NumPy, from the states of the marked top layer."""
    (top,) = elmo.encode_tokens([tokens], layers="top", keep_sentence_marks=True)
    softmax = elmo.bilm.softmax
    assert softmax is not None
    weight, bias = softmax.weight.numpy(), softmax.bias.numpy()
    half = elmo.dim // 2
    left = log_softmax(top.vectors[place, :half] @ weight.T + bias)
    right = log_softmax(top.vectors[place + 2, half:] @ weight.T + bias)
    prior = -np.log(np.arange(1, len(WORDS) + 1))
    scores = {"left": left, "right": right, "both": left + right - prior}[sides]
    kept = [row for row, word in enumerate(WORDS) if word not in LEFT_OUT]
    probabilities = np.exp(log_softmax(scores[kept].astype(np.float64)))
    return {WORDS[row]: p for row, p in zip(kept, probabilities, strict=True)}


@pytest.mark.parametrize("sides", ["both", "left", "right"])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_by_hand(elmo: Elmo, sides: Any, place: int) -> None:
    tokens = ["the", "river", "bank", "is", "."]
    blanked = [*tokens[:place], BLANK, *tokens[place + 1 :]]
    (found,) = elmo.fill([blanked], sides=sides, n=100)
    expected = by_hand(elmo, blanked, place, sides)
    assert (found.text, found.place, found.tokens) == (0, place, tuple(blanked))
    assert set(found.words) == set(WORDS) - LEFT_OUT
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-5)
    assert (np.diff(found.probabilities) <= 0).all()
    for word, probability in zip(found.words, found.probabilities, strict=True):
        assert probability == pytest.approx(expected[word], abs=1e-5)


def test_substitutes_do_not_know_the_word(elmo: Elmo) -> None:
    """A named word, its number and a blank in its place are filled alike."""
    text = "the river bank is ."
    (named,) = elmo.fill(text, word="bank")
    (numbered,) = elmo.fill(text, word=2)
    (blank,) = elmo.fill("the river ___ is .")
    assert named.tokens == numbered.tokens == tuple(text.split())
    for one in (named, numbered):
        assert (one.place, one.words) == (blank.place, blank.words)
        np.testing.assert_array_equal(one.probabilities, blank.probabilities)


def test_several_blanks_of_several_texts(elmo: Elmo) -> None:
    texts = ["___ bank", ["the", "_____", "."], "a ___ and ___"]
    found = elmo.fill(texts, n=3)
    assert [(one.text, one.place) for one in found] == [(0, 0), (1, 1), (2, 1), (2, 3)]
    assert all(len(one.words) == 3 for one in found)
    assert found[1].tokens == ("the", BLANK, ".")
    for one in found:
        (alone,) = [f for f in elmo.fill([texts[one.text]], n=3) if f.place == one.place]
        assert alone.words == one.words
        np.testing.assert_allclose(alone.probabilities, one.probabilities, atol=1e-5)
    assert elmo.fill([]) == []


def test_a_blank_survives_the_tokenizer() -> None:
    for tokenizer, text, tokens in (
        ("english", "They're in a new___.", ("They", "'re", "in", "a", "new", BLANK, ".")),
        ("korean-eojeol", "나는 ____를 먹었다.", ("나는", BLANK, "를", "먹었다", ".")),
        ("korean-syllables", "배___", ("배", BLANK)),
    ):
        (found,) = Elmo(scoring_model(), tokenizer=tokenizer).fill(text, n=1)
        assert found.tokens == tokens


def test_a_place_at_a_time_or_all_at_once(elmo: Elmo, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"the {BLANK} bank {BLANK}"] * 3
    together = elmo.fill(texts)
    monkeypatch.setattr("elmore.embed.fill._MAX_LOGITS", 1)
    for one, other in zip(elmo.fill(texts), together, strict=True):
        assert one.words == other.words
        np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_log_probabilities_of_given_states(elmo: Elmo) -> None:
    (context,) = elmo.encode_tokens(["the river bank"], layers="context")
    found = Filler(elmo).log_probabilities(context.vectors)
    assert found.shape == (3, len(WORDS))
    assert np.isneginf(found[:, :3]).all()
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("the bank", {}, DataError, "text 0 has no blank; write ___"),
        (
            "the bank",
            {"word": "boat"},
            DataError,
            "'boat' is not a token of text 0; name one",
        ),
        ("the bank", {"word": 2}, DataError, "text 0 has 2 tokens; there is none at position"),
        ("", {}, DataError, "text 0 has no blank"),
        ("the ___", {"n": 0}, ConfigError, "n is 0; expected at least 1"),
        ("the ___", {"sides": "up"}, ConfigError, "expected one of both, left, right"),
        (["the", 3], {}, DataError, "expected strings only"),
    ],
)
def test_what_cannot_be(
    elmo: Elmo, text: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        elmo.fill([text], **options)


def test_the_text_that_is_wrong_is_named(elmo: Elmo) -> None:
    for texts, message in (
        (["___ ___", ["a", 1]], "text 1 has the token 1"),
        (["___ ___", "a"], "text 1 has no blank"),
        (["___ ___", 5], "text 1 is of type int"),
    ):
        with pytest.raises(DataError, match=message):
            elmo.fill(texts)  # type: ignore[arg-type]


def test_a_model_without_a_softmax(tiny_elmo: Elmo) -> None:
    with pytest.raises(FormatError, match="came without its softmax, so it cannot predict words"):
        tiny_elmo.fill("the ___")
