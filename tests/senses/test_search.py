"""A search finds the nearest occurrences; a large index almost all of them."""

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError, FormatError
from elmore.senses import search as searching
from elmore.senses.build import build_index
from elmore.senses.index import IndexConfig, OccurrenceIndex
from elmore.senses.neighbours import neighbours
from elmore.senses.search import Search, nearest_of

WORDS = [
    "the",
    "bank",
    "of",
    "a",
    "river",
    "has",
    "money",
    "in",
    "it",
    "and",
    "some",
    "boats",
    "은행",
]
LINES = [" ".join(np.random.default_rng(k).choice(WORDS, size=5 + k % 4)) for k in range(600)]


@pytest.fixture(scope="module")
def index(tiny_elmo: Elmo, tmp_path_factory: pytest.TempPathFactory) -> OccurrenceIndex:
    folder = tmp_path_factory.mktemp("indexes") / "index"
    return build_index(
        tiny_elmo, LINES, folder, IndexConfig(layers=(0, 2)), source=[{"name": "text"}]
    )


def test_exact(index: OccurrenceIndex) -> None:
    vectors = np.asarray(index.vectors(2), np.float64)
    query = vectors[17].astype(np.float32)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    found = Search.load(index, 2).nearest(query, 5)
    np.testing.assert_allclose(found.cosines, np.sort(cosines)[::-1][:5], atol=1e-5)
    assert found.rows[0] == 17
    assert len(nearest_of(index.vectors(2)[:3], query, 10).rows) == 3
    assert Search.load(index, 2).quality.recall == 1


def test_cells(index: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MOST_EXACT", 100)
    made = Search.load(index, 2)
    assert made.quality.kind == "IVF250,PQ3"
    assert made.quality.recall > 0.9
    assert made.measure_recall() == made.quality.recall
    opened = Search.load(index, 2)
    assert opened.quality == made.quality
    query = np.asarray(index.vectors(2)[17], np.float32)
    np.testing.assert_array_equal(opened.nearest(query, 5).rows, made.nearest(query, 5).rows)
    facts = index.folder / "search-2.json"
    facts.write_text(facts.read_text().replace(f"{len(index)}", "7"))
    with pytest.raises(FormatError, match="is of another index; remove it"):
        Search.load(index, 2)
    facts.unlink()


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
