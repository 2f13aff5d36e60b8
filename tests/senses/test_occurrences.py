"""Occurrences of a word: where they are, how alike, and drawn so that Hangul can be read."""

from dataclasses import replace

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed import calibrate
from elmore.errors import ConfigError, DataError
from elmore.senses.occurrences import occurrences_of

SENTENCES = ["the bank .", "a river bank", "bank bank", "은행 bank"]


def test_each_occurrence_is_the_words_own_vector(tiny_elmo: Elmo) -> None:
    found = occurrences_of(tiny_elmo, "bank", SENTENCES)
    assert [s[a:b] for s, (a, b) in zip(found.sentences, found.spans, strict=True)] == ["bank"] * 4
    assert list(found.vectors) == [0, 1, 2]
    (second,) = tiny_elmo.encode_tokens([SENTENCES[1]], layers="all")
    for layer, vectors in found.vectors.items():
        assert vectors.shape == (4, tiny_elmo.dim)
        np.testing.assert_array_equal(vectors[1], second.vectors[layer, 2])


def test_the_states_around_an_occurrence(tiny_elmo: Elmo) -> None:
    found = occurrences_of(tiny_elmo, "bank", ["a bank .", "a bank"], layers=["expected"])
    (first,) = tiny_elmo.encode_tokens(["a bank ."], layers="expected")
    np.testing.assert_array_equal(found.vectors["expected"][0], first.vectors[1])
    assert found.cosines("expected").shape == (2, 2)


def test_standardized_where_the_model_is_calibrated(tiny_elmo: Elmo) -> None:
    calibration = calibrate(tiny_elmo, [one.split() for one in SENTENCES])
    elmo = Elmo(replace(tiny_elmo.model, calibration=calibration), tokenizer="whitespace")
    raw, found = (occurrences_of(one, "bank", SENTENCES, layers=[2]) for one in (tiny_elmo, elmo))
    assert (raw.standardized, found.standardized) == (False, True)
    np.testing.assert_allclose(
        found.vectors[2], calibration.standardize(raw.vectors[2], 2), atol=1e-5
    )
    kept = occurrences_of(elmo, "bank", SENTENCES, layers=[2], standardize=False)
    assert not kept.standardized
    np.testing.assert_array_equal(kept.vectors[2], raw.vectors[2])


def test_cosines_and_the_nearest_other(tiny_elmo: Elmo) -> None:
    found = occurrences_of(tiny_elmo, "bank", SENTENCES)
    np.testing.assert_allclose(found.cosines(0), np.ones((4, 4)), atol=1e-6)
    cosines = found.cosines(2)
    np.testing.assert_allclose(np.diag(cosines), 1)
    assert cosines.max() <= 1 + 1e-9
    for number, other in enumerate(found.nearest(2)):
        others = np.delete(cosines[number], number)
        assert other != number
        assert cosines[number, other] == others.max()


def test_a_word_that_is_not_there(tiny_elmo: Elmo) -> None:
    with pytest.raises(DataError, match="no token of 'the banks'; name one of the, banks"):
        occurrences_of(tiny_elmo, "bank", ["the banks"])
    with pytest.raises(DataError, match="there is no sentence"):
        occurrences_of(tiny_elmo, "bank", [])
    with pytest.raises(DataError, match="'bank' occurs once"):
        occurrences_of(tiny_elmo, "bank", ["the bank"]).nearest(2)


def test_layers_are_a_list(tiny_elmo: Elmo) -> None:
    with pytest.raises(ConfigError, match=r"expected a list, such as \['expected'\]"):
        occurrences_of(tiny_elmo, "bank", ["the bank"], layers="expected")  # type: ignore[arg-type]
