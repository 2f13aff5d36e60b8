"""A word gets the sense whose labelled occurrences point its way."""

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import DataError
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


def test_a_word_that_was_read_without_a_sense_is_still_new(tiny_elmo: Elmo) -> None:
    known = SenseVectors(tiny_elmo).learn([sentence("the river bank")])
    assert list(known.predict([sentence("the bank")])) == [None]


def test_several_senses_of_one_occurrence_all_learn(tiny_elmo: Elmo) -> None:
    known = SenseVectors(tiny_elmo).learn([sentence("the river bank", "a", "b")])
    (found,) = known.predict([sentence("the bank")])
    assert found is not None
    assert [one.sense for one in found] == ["a"] * 3


def test_a_place_outside_the_sentence() -> None:
    with pytest.raises(DataError, match="stands at tokens 2 to 4 of a sentence of 3"):
        SenseSentence(("the", "river", "bank"), (SenseWord(2, 4, "bank"),))
