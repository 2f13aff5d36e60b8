"""What an index says of a word: neighbours, senses, a map, change; slow, so found once and kept.

These run in two threads of their own beside the models' threads. A request that is given up does
not stop them: whoever asks again gets what they found. What is kept is small, rows and points; the
sentences are read from the index when they are sent.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from elmore.errors import DataError, ElmoreError
from elmore.formats.calibration import Layer
from elmore.senses.change import (
    SenseChanges,
    WordChange,
    sense_changes,
    word_change,
    word_changes,
)
from elmore.senses.describe import Sense
from elmore.senses.index import Ints, OccurrenceIndex
from elmore.senses.induce import find_senses, other_occurrences, sampled_rows
from elmore.senses.neighbours import LayerNeighbours, neighbours
from elmore.senses.pictures import Projection, project_to_plane
from elmore.senses.search import Floats
from elmore.serve.refusals import Refused, busy
from elmore.serve.registry import ServedIndex
from elmore.serve.threads import DaemonThreads

_MAX_KEPT = 256
_MAX_WAITING = 64

T = TypeVar("T")


@dataclass(frozen=True)
class WordSenses:
    """The senses of a word in an index."""

    rows: Ints
    """(N,) the occurrences that were looked at."""
    senses: list[Sense]
    """Their rows are numbers in `rows`."""

    def labels(self) -> list[int]:
        """Return the number of the sense of each occurrence, (N,)."""
        found = [0] * len(self.rows)
        for number, sense in enumerate(self.senses):
            for row in sense.rows.tolist():
                found[row] = number
        return found


class Lookups:
    """Finds and keeps."""

    def __init__(self) -> None:
        self._threads = DaemonThreads(2, "elmore index")
        self._kept: OrderedDict[Hashable, asyncio.Future[Any]] = OrderedDict()
        self._n_waiting = 0

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    def _start(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        """Have something done in these threads, unless too much waits already."""
        if self._n_waiting >= _MAX_WAITING:
            raise busy(f"{_MAX_WAITING} questions about indexes wait; try again in a second")
        self._n_waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._count_done)
        return future

    def _count_done(self, _: "asyncio.Future[Any]") -> None:
        self._n_waiting -= 1

    async def once(self, key: Hashable, work: Callable[[], T]) -> T:
        """Do something that was not done yet, or is not kept any more."""
        if key not in self._kept:
            self._kept[key] = self._start(work)
            self._kept[key].add_done_callback(lambda done: self._forget_failure(key, done))
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        found: T = await asyncio.shield(self._kept[key])
        return found

    def _forget_failure(self, key: Hashable, future: "asyncio.Future[Any]") -> None:
        if future.cancelled() or future.exception() is not None:
            self._kept.pop(key, None)

    async def neighbours(
        self, served: ServedIndex, text: str, word: str, **options: Any
    ) -> list[LayerNeighbours]:
        """Return the occurrences nearest to a word in its sentence."""
        return await self._start(
            _about(served, lambda: neighbours(served.elmo, served.index, text, word, **options))
        )

    async def senses(
        self, served: ServedIndex, word: str, max_occurrences: int, max_senses: int
    ) -> WordSenses:
        """Return the senses of a word."""
        rows_of(served, word)

        def work() -> WordSenses:
            index = served.index
            rows = sampled_rows(index, word, most=max_occurrences)
            occurrences = [index.occurrence(int(row)) for row in rows]
            others = other_occurrences(index, word)
            found = find_senses(served.elmo, occurrences, others=others, max_senses=max_senses)
            return WordSenses(rows, found)

        key = ("senses", served.name, word, max_occurrences, max_senses)
        return await self.once(key, _about(served, work))

    async def points(
        self, served: ServedIndex, word: str, rows: Ints, layer: Layer, method: Projection
    ) -> Floats:
        """Return occurrences of a word in the plane, (N, 2)."""
        if len(rows) < 3:
            raise DataError(f"{word!r} occurs {len(rows)} times; a map needs at least 3")

        def work() -> Floats:
            return project_to_plane(served.index.vectors(layer)[rows], method)

        key = ("map", served.name, word, len(rows), layer, method)
        return await self.once(key, _about(served, work))

    async def word_changes(
        self, before: ServedIndex, after: ServedIndex, layer: Layer, min_count: int
    ) -> list[WordChange]:
        """Return how much each word changed, the most changed first."""

        def work() -> list[WordChange]:
            return word_changes(before.index, after.index, layer, min_count=min_count)[:1_000]

        key = ("changes", before.name, after.name, layer, min_count)
        return await self.once(key, _about(before, _about(after, work)))

    async def word_change(
        self, before: ServedIndex, after: ServedIndex, layer: Layer, word: str
    ) -> tuple[WordChange, SenseChanges]:
        """Return how a word changed, sense by sense."""
        for served in (before, after):
            rows_of(served, word)

        def work() -> tuple[WordChange, SenseChanges]:
            return (
                word_change(before.index, after.index, layer, word),
                sense_changes(before.elmo, before.index, after.index, word),
            )

        key = ("change", before.name, after.name, layer, word)
        return await self.once(key, _about(before, _about(after, work)))


def rows_of(served: ServedIndex, word: str) -> Ints:
    """Return which occurrences are of a word; 404 if there are none."""
    try:
        return served.index.rows(word)
    except DataError as error:
        raise Refused(404, _without_folder(served, error)) from None


def check_layer(served: ServedIndex, layer: Layer) -> None:
    """Refuse a layer that an index does not have."""
    if layer not in served.index.layers:
        have = ", ".join(map(str, served.index.layers))
        raise Refused(422, f"the index {served.name} has no layer {layer}; it has {have}")


def shared_layers(before: OccurrenceIndex, after: OccurrenceIndex) -> list[Layer]:
    """Return the layers that both indexes have."""
    return [layer for layer in before.layers if layer in after.layers]


def _about(served: ServedIndex, work: Callable[[], T]) -> Callable[[], T]:
    """Say of errors which index they are about by its name: where it lies is nobody's business."""

    def do() -> T:
        try:
            return work()
        except ElmoreError as error:
            raise DataError(_without_folder(served, error)) from error

    return do


def _without_folder(served: ServedIndex, error: ElmoreError) -> str:
    return str(error).replace(str(served.index.folder), f"the index {served.name}")
