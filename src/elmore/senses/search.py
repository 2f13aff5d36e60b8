"""A vector in, the occurrences of an index that are nearest to it out (cosine).

A small index is searched exactly. A large one is split into cells, some of which are searched by
vectors compressed to D / 4 bytes (faiss, IVF-PQ); the best of these are then compared exactly. The
recall of the ten nearest is measured when the search is built, and saved with it: search-N.faiss
and search-N.json in the folder of the index, for layer N.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from elmore.checksums import FileRecord, check_file, check_names, describe_file
from elmore.errors import FormatError, MissingExtraError
from elmore.folders import new_file, write_json
from elmore.formats.calibration import Layer
from elmore.metadata import read_metadata
from elmore.senses.index import Ints, OccurrenceIndex, StoredVectors
from elmore.senses.index_file import IndexFile

FORMAT: Literal["elmore-search-1"] = "elmore-search-1"
MOST_EXACT = 200_000
"""Occurrences up to which a search is exact."""

_AT_ONCE = 65_536  # vectors that are converted to float32
_SAMPLE_PER_CELL = 40  # vectors that the cells are trained on
_CELLS_SEEN = 48
_COMPARED = 16  # exactly, for each one asked for
_RECALL_QUERIES, _RECALL_AT = 100, 10
_SEED = 1
_FIX = "remove it to build the search again"

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Found:
    """Occurrences, the nearest first."""

    rows: Ints
    """(n,)"""
    cosines: Floats
    """(n,)"""


@dataclass(frozen=True)
class Quality:
    """The method of a search, and its recall."""

    kind: str
    """exact, or faiss's name of it."""
    recall: Annotated[float, Meta(ge=0, le=1)]
    """The share of the ten nearest that it finds: 1 if it is exact, else measured."""


class SearchFile(Struct, frozen=True, forbid_unknown_fields=True):
    """search-N.json."""

    format: Literal["elmore-search-1"]
    of: IndexFile
    quality: Quality
    files: dict[str, FileRecord] | None = None
    checksum: str | None = None


def read_search(path: Path) -> SearchFile:
    """Read search-N.json."""
    found = read_metadata(path, SearchFile, fix=_FIX)
    check_names(found.files or {}, path)
    return found


class Search:
    """Finds the nearest occurrences on one layer of an index."""

    def __init__(self, index: OccurrenceIndex, layer: Layer, cells: Any, quality: Quality) -> None:
        self.vectors = index.vectors(layer)
        self.quality = quality
        self._cells = cells  # of faiss; None: exact

    @classmethod
    def load(cls, index: OccurrenceIndex, layer: Layer) -> "Search":
        """Load the search of a layer; that of a large index is built and saved the first time."""
        if len(index) <= MOST_EXACT:
            return cls(index, layer, None, Quality("exact", 1.0))
        faiss = _faiss()
        path = index.folder / f"search-{layer}.faiss"
        facts = path.with_suffix(".json")
        said = read_search(facts) if facts.exists() else None
        if said is not None and said.files is not None:  # earlier versions had no checksum
            if said.of != index.content:
                raise FormatError(f"{facts} is of another index; remove it to build it again")
            if path.name not in said.files:
                raise FormatError(f"{facts}: files lacks {path.name}; {_FIX}")
            check_file(path, said.files[path.name], fix=f"remove it and {facts.name}")
            try:
                cells = faiss.read_index(str(path))
            except (RuntimeError, MemoryError):  # with a page of its own source
                raise FormatError(f"{path} cannot be read; remove it and {facts.name}") from None
            cells.nprobe = _CELLS_SEEN
            return cls(index, layer, cells, said.quality)
        name, cells = _train_cells(faiss, index.vectors(layer))
        unmeasured = cls(index, layer, cells, Quality(name, math.nan))
        quality = Quality(name, unmeasured.measure_recall())
        with new_file(path) as beside:
            faiss.write_index(cells, str(beside))
            files = {path.name: describe_file(beside)}
        write_json(facts, SearchFile(FORMAT, index.content, quality, files))
        return cls(index, layer, cells, quality)

    def nearest(self, vector: Floats, n: int) -> Found:
        """Return the `n` occurrences that are nearest to a vector, (D,)."""
        if self._cells is None:
            return nearest_of(self.vectors, vector, n)
        query = unit_norm(vector[None])
        _, rows = self._cells.search(query, min(len(self.vectors), n * _COMPARED))
        candidates = np.sort(rows[rows >= 0])  # in the order of the file
        found = nearest_of(self.vectors[candidates], vector, n)
        return Found(candidates[found.rows], found.cosines)

    def measure_recall(self) -> float:
        """Return the share of the ten nearest of some occurrences that a search finds.

        An occurrence itself does not count. Ties with the tenth count as found.
        """
        rng = np.random.default_rng(_SEED)
        rows = np.sort(rng.choice(len(self.vectors), _RECALL_QUERIES, replace=False))
        queries = unit_norm(self.vectors[rows])
        best = np.full((len(rows), _RECALL_AT + 1), -np.inf, np.float32)
        for start in range(0, len(self.vectors), _AT_ONCE):
            cosines = queries @ unit_norm(self.vectors[start : start + _AT_ONCE]).T
            best = -np.sort(-np.concatenate([best, cosines], axis=1), axis=1)[:, : best.shape[1]]
        shares = []
        for row, query, exact in zip(rows, queries, best, strict=True):
            found = self.nearest(query, _RECALL_AT + 1)
            others = found.cosines[found.rows != row]
            shares.append((others >= exact[-1] - 1e-6).sum() / _RECALL_AT)
        return float(np.minimum(shares, 1).mean())


def nearest_of(vectors: StoredVectors, vector: Floats, n: int) -> Found:
    """Compare a vector with all of some others, a block at a time."""
    query = unit_norm(vector[None])[0]
    cosines = np.concatenate([
        unit_norm(vectors[start : start + _AT_ONCE]) @ query
        for start in range(0, max(1, len(vectors)), _AT_ONCE)
    ])  # fmt: skip
    rows = np.argsort(-cosines, kind="stable")[:n]
    return Found(rows, cosines[rows])


def unit_norm(vectors: npt.NDArray[Any]) -> Floats:
    """Return vectors, (N, D), as float32 and divided by their norms."""
    found = np.asarray(vectors, np.float32)
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    norms[norms == 0] = 1
    return np.asarray(found / norms, np.float32)


def _train_cells(faiss: Any, vectors: StoredVectors) -> tuple[str, Any]:
    """Split all vectors into cells; return faiss's name of the index, and the cells."""
    n, dim = vectors.shape
    n_cells = round(4 * math.sqrt(n))
    n_bytes = next(m for m in range(max(1, dim // 4), 0, -1) if dim % m == 0)
    name = f"IVF{n_cells},PQ{n_bytes}"
    cells = faiss.index_factory(dim, name, faiss.METRIC_INNER_PRODUCT)
    rng = np.random.default_rng(_SEED)
    sample = np.sort(rng.choice(n, min(n, _SAMPLE_PER_CELL * n_cells), replace=False))
    cells.train(unit_norm(vectors[sample]))
    for start in range(0, n, _AT_ONCE):
        cells.add(unit_norm(vectors[start : start + _AT_ONCE]))
    cells.nprobe = _CELLS_SEEN
    return name, cells


def _faiss() -> Any:
    try:
        import faiss  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingExtraError(
            f"searching more than {MOST_EXACT:,} occurrences", "senses"
        ) from None
    return faiss
