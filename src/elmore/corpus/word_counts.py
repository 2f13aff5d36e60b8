"""Counts of words in, the most frequent words out, in bounded memory (an external merge sort).

Counts that no longer fit in memory are written as alphabetical runs, which are merged at the end.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from pathlib import Path

WordCount = tuple[str, int]

_MAX_IN_MEMORY = 2**20  # some 130 MB
_MAX_RUNS = 64  # files open at once


@dataclass(frozen=True)
class CommonWords:
    """The most frequent words of a text, and how frequent all are."""

    words: tuple[str, ...]
    """The most frequent first; of equally frequent ones, the first in the alphabet."""
    n_tokens: int
    """Words of the text, with repetition."""
    n_distinct: int
    """Distinct words."""
    n_words_by_count: Mapping[int, int]
    """The number of words for each count, the highest count first."""

    def coverage(self, n_words: int) -> float:
        """Return the share of the text that its `n_words` most frequent words cover."""
        covered, left = 0, n_words
        for count, n_alike in self.n_words_by_count.items():
            covered += count * min(n_alike, left)
            left -= min(n_alike, left)
        return covered / self.n_tokens if self.n_tokens else 0.0

    def counts(self) -> list[int]:
        """Return how often each of `words` occurs."""
        by_rank = chain.from_iterable(repeat(*pair) for pair in self.n_words_by_count.items())
        return list(islice(by_rank, len(self.words)))


class WordCounter:
    """Adds up counts of words, of at most `max_in_memory` distinct words in memory."""

    def __init__(self, folder: Path, max_in_memory: int = _MAX_IN_MEMORY) -> None:
        """Write the other counts to `folder`, which the caller removes."""
        self.folder = folder
        self.max_in_memory = max_in_memory
        self._counts: Counter[str] = Counter()
        self._runs: list[Path] = []
        self._n_written = 0

    def add(self, counts: Mapping[str, int]) -> None:
        """Add the counts of one piece of text."""
        self._counts.update(counts)
        if len(self._counts) > self.max_in_memory:
            self._write_run(_alphabetical(self._counts))
            self._counts = Counter()
        if len(self._runs) >= _MAX_RUNS:
            merged = self._runs
            self._runs = []
            self._write_run(_merge(map(_read_run, merged)))
            for path in merged:
                path.unlink()

    def most_common(self, max_words: int, min_count: int = 1) -> CommonWords:
        """Return at most `max_words` words, of those that occur `min_count` times or more."""
        n_words_by_count: Counter[int] = Counter()
        best: list[tuple[int, str]] = []
        for word, count in self.totals():
            n_words_by_count[count] += 1
            if count >= min_count:
                best.append((-count, word))
            if len(best) > 2 * max_words:
                best = sorted(best)[:max_words]
                min_count = -best[-1][0]  # rarer words would only be dropped again
        return CommonWords(
            words=tuple(word for _, word in sorted(best)[:max_words]),
            n_tokens=sum(count * n_words for count, n_words in n_words_by_count.items()),
            n_distinct=n_words_by_count.total(),
            n_words_by_count=dict(sorted(n_words_by_count.items(), reverse=True)),
        )

    def totals(self) -> Iterable[WordCount]:
        """Return every word and its total count, one at a time."""
        if not self._runs:
            return self._counts.items()
        return _merge([_alphabetical(self._counts), *map(_read_run, self._runs)])

    def _write_run(self, pairs: Iterable[WordCount]) -> None:
        path = self.folder / f"counts-{self._n_written:05d}"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{count} {word}\n" for word, count in pairs)
        self._runs.append(path)
        self._n_written += 1


def _read_run(path: Path) -> Iterator[WordCount]:
    with path.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            count, _, word = line.removesuffix("\n").partition(" ")
            yield word, int(count)


def _alphabetical(counts: Mapping[str, int]) -> list[WordCount]:
    return [(word, counts[word]) for word in sorted(counts)]


def _merge(runs: Iterable[Iterable[WordCount]]) -> Iterator[WordCount]:
    """Merge alphabetical runs, adding up the counts of the same word."""
    for word, pairs in groupby(heapq.merge(*runs), key=itemgetter(0)):
        yield word, sum(count for _, count in pairs)
