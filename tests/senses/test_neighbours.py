"""Neighbours of a word in its sentence."""

import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError
from elmore.senses import search as searching
from elmore.senses.index import OccurrenceIndex
from elmore.senses.neighbours import neighbours
from tests.senses.conftest import LINES


def test_neighbours_leave_copies_out(tiny_elmo: Elmo, index: OccurrenceIndex) -> None:
    text = next(line for line in LINES if "bank" in line)
    for same_word in (False, True):
        low, high = neighbours(tiny_elmo, index, text, "bank", n=8, same_word=same_word)
        assert (low.layer, high.layer) == (0, 2)
        for layer in (low, high):
            cosines = [one.cosine for one in layer.neighbours]
            assert cosines == sorted(cosines, reverse=True)
            sentences = [one.occurrence.tokens for one in layer.neighbours]
            assert len(set(sentences)) == 8
            assert tuple(text.split()) not in sentences
        words = {one.occurrence.word for one in high.neighbours}
        assert not same_word or words == {"bank"}
        assert low.neighbours[0].occurrence.word == "bank"  # layer 0 knows spellings
        assert low.neighbours[-1].cosine == pytest.approx(1, abs=1e-3)


def test_neighbours_of_an_approximate_search(
    tiny_elmo: Elmo, index: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = next(line for line in LINES if "bank" in line)
    exact = neighbours(tiny_elmo, index, text, "bank", n=30)[1]
    monkeypatch.setattr(searching, "MOST_EXACT", 100)
    found = neighbours(tiny_elmo, index, text, "bank", n=30, layers=[2])[0]
    assert found.recall < 1
    assert len(found.neighbours) == 30
    assert len({one.occurrence.tokens for one in found.neighbours}) == 30
    assert found.neighbours[0] == exact.neighbours[0]
    (index.folder / "search-2.json").unlink()


def test_more_neighbours_than_there_are(tiny_elmo: Elmo, index: OccurrenceIndex) -> None:
    (_, top) = neighbours(tiny_elmo, index, "a bank", "bank", n=10_000)
    assert len(top.neighbours) == len(set(LINES))


def test_what_cannot_be(tiny_elmo: Elmo, index: OccurrenceIndex) -> None:
    with pytest.raises(DataError, match="'boat' is no token of"):
        neighbours(tiny_elmo, index, "a bank", "boat")
    with pytest.raises(DataError, match="'ship' does not occur in"):
        neighbours(tiny_elmo, index, "a ship", "ship", same_word=True)
    with pytest.raises(DataError, match="number of neighbours is 0"):
        neighbours(tiny_elmo, index, "a bank", "bank", n=0)
    with pytest.raises(ConfigError, match="has no layer 1"):
        neighbours(tiny_elmo, index, "a bank", "bank", layers=[1])
