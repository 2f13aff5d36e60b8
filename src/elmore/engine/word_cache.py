"""Words in, their context-free vectors out, each encoded once: the word cache, of bounded size.

Most words of a text occurred before, and at the published small shape the char CNN takes longer for
a word than the LSTMs do for a token. The oldest words are dropped for new ones; words that came
from a file of cached vectors stay.

Shapes: W words, p projection_dim.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from weakref import WeakSet

import numpy as np

from elmore.errors import ConfigError
from elmore.kernels.library import Floats
from elmore.text.vocab import Vocab

_MAX_CHARACTERS = 200  # of a word that is cached: what is longer is hardly seen again


@dataclass(frozen=True)
class WordVectors:
    """Context-free vectors of a vocabulary: word i has row i, (W, p)."""

    vocab: Vocab
    vectors: Floats


class WordCache:
    """Holds the vectors of up to `max_words` words, and all `fixed` ones, which a file gave."""

    def __init__(
        self, projection_dim: int, max_words: int, fixed: WordVectors | None = None
    ) -> None:
        if max_words < 0:
            raise ConfigError(f"cache_words is {max_words}; expected 0 or more")
        self.max_words = max_words
        self.hits = 0
        self.misses = 0
        self._n_fixed = len(fixed.vocab) if fixed else 0
        # Allocated whole; the system backs only the rows that are written.
        self._table = np.empty((self._n_fixed + max_words, projection_dim), np.float32)
        self._lock = Lock()  # one Elmo may serve several threads
        _caches.add(self)
        self._rows: dict[str, int] = {}
        self._ring: list[str] = []  # the word of each row after the fixed ones
        self._next = 0
        if fixed:
            self._rows = {word: row for row, word in enumerate(fixed.vocab)}
            self._table[: self._n_fixed] = fixed.vectors

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def hit_rate(self) -> float:
        """The share of the distinct words of each batch that were cached already."""
        n_lookups = self.hits + self.misses
        return self.hits / n_lookups if n_lookups else 0.0

    @property
    def fixed(self) -> WordVectors | None:
        """The words that came from a file."""
        n = self._n_fixed
        return WordVectors(Vocab(list(self._rows)[:n]), self._table[:n]) if n else None

    def vectors(self, words: Sequence[str], encode: Callable[[list[str]], Floats]) -> Floats:
        """Return the vectors of distinct words (W, p); `encode` makes those not cached yet."""
        with self._lock:
            rows = [self._rows.get(word, -1) for word in words]
            new = [place for place, row in enumerate(rows) if row < 0]
            self.hits += len(words) - len(new)
            self.misses += len(new)
            if not new:
                found: Floats = self._table[rows]
                return found
            new_words = [words[place] for place in new]
            encoded = encode(new_words)
            found = np.empty((len(words), encoded.shape[1]), np.float32)
            found[new] = encoded
            cached = [place for place, row in enumerate(rows) if row >= 0]
            found[cached] = self._table[[rows[place] for place in cached]]
            self._add(new_words, encoded)
            return found

    def clear(self) -> None:
        """Drop all words but the fixed ones."""
        with self._lock:
            for word in self._ring:
                self._rows.pop(word, None)
            self._ring, self._next = [], 0

    def fingerprint(self) -> str:
        """Return a hash of the fixed words and their vectors."""
        digest = hashlib.sha256("\n".join(list(self._rows)[: self._n_fixed]).encode())
        digest.update(self._table[: self._n_fixed].data)
        return digest.hexdigest()

    def unlock_in_child(self) -> None:
        """In a forked child: if another thread was at work here, drop what it left half done."""
        if self._lock.locked():
            self._lock = Lock()
            self.clear()

    def _add(self, words: Sequence[str], vectors: Floats) -> None:
        """Cache new words; the oldest are dropped first."""
        rows = []
        short = [place for place, word in enumerate(words) if len(word) <= _MAX_CHARACTERS]
        kept = short[: self.max_words]
        for word in (words[place] for place in kept):
            if len(self._ring) < self.max_words:
                self._ring.append(word)
            else:
                del self._rows[self._ring[self._next]]
                self._ring[self._next] = word
            self._rows[word] = self._n_fixed + self._next
            rows.append(self._rows[word])
            self._next = (self._next + 1) % self.max_words
        self._table[rows] = vectors[kept]


_caches: WeakSet[WordCache] = WeakSet()


def _unlock_in_child() -> None:
    for cache in _caches:
        cache.unlock_in_child()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_unlock_in_child)
