"""A search finds the nearest occurrences; a large index almost all of them."""

import numpy as np
import pytest

from elmore.errors import FormatError
from elmore.senses import search as searching
from elmore.senses.index import OccurrenceIndex
from elmore.senses.search import Search, nearest_of


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
