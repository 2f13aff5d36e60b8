"""A search finds the nearest occurrences; a large index almost all of them."""

import json

import numpy as np
import pytest

from elmore.errors import FormatError
from elmore.metadata import checksum_of
from elmore.senses import search as searching
from elmore.senses.index import OccurrenceIndex
from elmore.senses.search import Search, nearest_of
from elmore.senses.verify import verify_index


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
    facts, cells = index.folder / "search-2.json", index.folder / "search-2.faiss"
    whole, said = cells.read_bytes(), json.loads(facts.read_text())
    cells.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert [one.name for one in verify_index(index.folder) if one.problem] == ["search-2.faiss"]
    with pytest.raises(FormatError, match=r"search-2.faiss is damaged: .*remove it and search-2"):
        Search.load(index, 2)
    said["of"]["facts"]["n_lines"] = 7
    said["checksum"] = checksum_of(said)
    facts.write_text(json.dumps(said))
    with pytest.raises(FormatError, match="is of another index; remove it"):
        Search.load(index, 2)
    del (
        said["files"],
        said["checksum"],
    )  # as earlier versions wrote it: nothing says that the cells are whole
    facts.write_text(json.dumps(said))
    assert Search.load(index, 2).quality == made.quality
    assert cells.read_bytes() == whole
    for path in (facts, cells):
        path.unlink()
