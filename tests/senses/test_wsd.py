"""A word gets the sense whose labelled occurrences point its way."""

from dataclasses import replace

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed import calibrate
from elmore.errors import DataError
from elmore.senses.representations import read_layers, word_vectors
from elmore.senses.wsd import SenseSentence, SenseVectors, SenseWord


def sentence(text: str, *senses: str, word: str = "bank%1", width: int = 1) -> SenseSentence:
    tokens = tuple(text.split())
    start = tokens.index("bank")
    return SenseSentence(tokens, (SenseWord(start, start + width, word, senses),))


LABELLED = [
    sentence("the river bank", "side"),
    sentence("a river bank .", "side"),
    sentence("my money bank", "house"),
]


def test_the_nearest_mean(tiny_elmo: Elmo) -> None:
    known = SenseVectors(tiny_elmo).learn(LABELLED)
    (river, money, new) = known.predict(
        [sentence("the river bank"), sentence("my money bank"), sentence("bank", word="bank%2")]
    )
    assert river is not None
    assert money is not None
    assert [one.sense for one in river[1:]] == ["side", "side"]
    assert [one.sense for one in money[1:]] == ["house", "house"]
    assert river[0].sense == money[0].sense  # layer 0 cannot tell
    assert money[2].cosine == pytest.approx(1)
    assert new is None
    assert list(SenseVectors(tiny_elmo).predict([sentence("bank")])) == [None]


def test_by_hand(tiny_elmo: Elmo) -> None:
    """The mean of each sense, the cosine with each, the highest: in NumPy, written out."""
    read = [v.vectors for v in tiny_elmo.encode_tokens(["the river bank", "a river bank .",
            "my money bank", "some river bank house"], layers="all")]  # fmt: skip
    side = (read[0][:, 2] + read[1][:, 2]) / 2
    asked, house = read[3][:, 2:4].mean(axis=1), read[2][:, 2]
    cosine = [
        [a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(asked, sense, strict=True)]
        for sense in (side, house)
    ]
    expected = ["side" if s > h else "house" for s, h in zip(*cosine, strict=True)]
    known = SenseVectors(tiny_elmo).learn(LABELLED)
    (found,) = known.predict([sentence("some river bank house", width=2)])
    assert found is not None
    assert [one.sense for one in found[1:]] == expected[1:]  # on layer 0 both are the same
    best = np.max(cosine, axis=0)
    np.testing.assert_allclose([one.cosine for one in found], best, atol=1e-5)


def test_by_the_states_around_a_word(tiny_elmo: Elmo) -> None:
    """Its own spelling does not matter; of several tokens the first and the last one count."""
    layers = ("context", "expected", "joined")
    known = SenseVectors(tiny_elmo, layers=layers).learn(LABELLED)
    (found,) = known.predict([SenseSentence(("the", "river", "x"), (SenseWord(2, 3, "bank%1"),))])
    assert found is not None
    assert [one.sense for one in found] == ["side"] * 3
    read = tiny_elmo.encode_tokens(["a took place"], layers=read_layers(tiny_elmo))
    two = word_vectors(tiny_elmo, read[0].vectors, 1, 3)
    context = read[0].vectors["context"]
    np.testing.assert_array_equal(two["context"][:6], context[1, :6])
    np.testing.assert_array_equal(two["context"][6:], context[2, 6:])
    np.testing.assert_array_equal(two["expected"], context[1, :6] + context[2, 6:])
    assert np.linalg.norm(two["joined"]) == pytest.approx(2**0.5)


def test_standardized_where_the_model_is_calibrated(tiny_elmo: Elmo) -> None:
    calibration = calibrate(tiny_elmo, [one.tokens for one in LABELLED])
    elmo = Elmo(replace(tiny_elmo.model, calibration=calibration))
    (read,) = elmo.encode_tokens(["the river bank"], layers=read_layers(elmo))
    raw, found = (word_vectors(one, read.vectors, 2, 3) for one in (tiny_elmo, elmo))
    for layer in (1, "context", "expected"):
        wanted = calibration.standardize(raw[layer], layer)  # type: ignore[index, arg-type]
        np.testing.assert_allclose(found[layer], wanted, atol=1e-6)  # type: ignore[index]


def test_a_word_that_was_read_without_a_sense_is_still_new(tiny_elmo: Elmo) -> None:
    known = SenseVectors(tiny_elmo).learn([sentence("the river bank")])
    assert list(known.predict([sentence("the bank")])) == [None]


def test_several_senses_of_one_occurrence_all_learn(tiny_elmo: Elmo) -> None:
    known = SenseVectors(tiny_elmo).learn([sentence("the river bank", "a", "b")])
    (found,) = known.predict([sentence("the bank")])
    assert found is not None
    assert [one.sense for one in found] == ["a"] * 3


def test_a_place_outside_the_sentence() -> None:
    with pytest.raises(DataError, match="is at tokens 2 to 4 of a sentence of 3"):
        SenseSentence(("the", "river", "bank"), (SenseWord(2, 4, "bank"),))
