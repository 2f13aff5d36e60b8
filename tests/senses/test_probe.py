"""A probe finds what a layer says."""

import pytest

from elmore import Elmo
from elmore.errors import DataError
from elmore.senses.probe import probe_layers, tag_vectors
from tests.senses.bank_sentences import RIVER, sentences


def test_a_probe_finds_what_a_layer_says(english: Elmo) -> None:
    """Whether a word is the first of its sentence is no matter of spelling."""
    lines = [line.split() for line in sentences(RIVER, 60, 5)]
    tags = [["FIRST"] + ["REST"] * (len(line) - 1) for line in lines]
    known, asked = (tag_vectors(english, lines[k:m], tags[k:m]) for k, m in ((0, 40), (40, 60)))
    zero, one, two, mean = probe_layers(*known, *asked)
    assert zero == pytest.approx(6 / 7, abs=0.05)
    assert min(one, two, mean) > 0.95
    with pytest.raises(DataError, match="sentence 0 has 1 words and 2 tags"):
        tag_vectors(english, [["a"]], [["X", "Y"]])
    with pytest.raises(DataError, match="a probe needs at least two tags"):
        probe_layers(known[0], ["X"] * len(known[1]), *asked)
