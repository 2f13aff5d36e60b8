"""A word in its sentence in, the occurrences that are nearest to it out, layer by layer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from elmore.embed import Elmo
from elmore.errors import DataError
from elmore.formats.calibration import Layer
from elmore.senses.index import Occurrence, OccurrenceIndex, layer_name
from elmore.senses.occurrences import occurrences_of
from elmore.senses.search import Floats, Search, nearest_of

_MORE = 3  # times as many are looked at, because duplicate sentences are left out


@dataclass(frozen=True)
class Neighbour:
    """An occurrence, and how near it is."""

    occurrence: Occurrence
    cosine: float


@dataclass(frozen=True)
class LayerNeighbours:
    """The nearest occurrences on one layer."""

    layer: Layer
    neighbours: list[Neighbour]
    recall: float
    """The share of the nearest that the search finds; 1 if it is exact."""

    @property
    def title(self) -> str:
        """The layer and, of an approximate search, its recall."""
        exact = "" if self.recall == 1 else f" (finds {self.recall:.0%} of the nearest)"
        return f"{layer_name(self.layer)}{exact}:"


def neighbours(
    elmo: Elmo,
    index: OccurrenceIndex,
    text: str,
    word: str,
    *,
    n: int = 10,
    layers: Sequence[Layer] | None = None,
    same_word: bool = False,
) -> list[LayerNeighbours]:
    """Return the occurrences nearest to `word` in `text`, on each layer of the index.

    Duplicates of a sentence count once, and the sentence itself is left out. With `same_word`,
    only other occurrences of the word are searched, all of them.
    """
    if n < 1:
        raise DataError(f"the number of neighbours is {n}; expected at least 1")
    index.check_model(elmo)
    chosen = index.layers if layers is None else layers
    for layer in chosen:
        index.vectors(layer)  # which says if it has none
    asked = occurrences_of(elmo, word, [text], layers=chosen, standardize=index.is_standardized)
    tokens = tuple(token.text for token in elmo.tokenizer(text))
    rows = index.rows(asked.word) if same_word else None
    found = []
    for layer in chosen:
        vector = asked.vectors[layer][0]
        pairs: Iterator[tuple[np.int64, np.float32]]
        if rows is not None:
            near = nearest_of(index.vectors(layer)[rows], vector, len(rows))
            pairs, recall = zip(rows[near.rows], near.cosines, strict=True), 1.0
        else:
            search = Search.load(index, layer)
            pairs, recall = _widening(search, vector, n), search.quality.recall
        seen = {tokens}
        kept: list[Neighbour] = []
        for row, cosine in pairs:
            occurrence = index.occurrence(int(row))
            if occurrence.tokens in seen:
                continue
            seen.add(occurrence.tokens)
            kept.append(Neighbour(occurrence, float(cosine)))
            if len(kept) == n:
                break
        found.append(LayerNeighbours(layer, kept, recall))
    return found


def _widening(search: Search, vector: Floats, n: int) -> Iterator[tuple[np.int64, np.float32]]:
    """Give the nearest occurrences one by one, and look for more when they are used up."""
    given: set[int] = set()
    wanted = _MORE * n
    while True:
        found = search.nearest(vector, wanted)
        for row, cosine in zip(found.rows, found.cosines, strict=True):
            if int(row) not in given:  # a wider search may find better ones among the first too
                given.add(int(row))
                yield row, cosine
        if len(found.rows) < wanted:
            return
        wanted *= 2
