"""Words in, their context-free vectors out, each spelled once: a bounded memory of words.

Most of a text is words that were seen before, and at the published small shape to spell a word
costs twice as much as to read it. The oldest words make room for new ones; words that came from a
file of cached vectors stay.

Shapes: W words, p projection_dim.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock

import torch
from torch import Tensor

from elmore.engine.threads import after_fork_in_child
from elmore.errors import ConfigError
from elmore.text import Vocab


@dataclass(frozen=True)
class KnownWords:
    """Vectors that a file gave: word i of the vocabulary has row i, (W, p)."""

    vocab: Vocab
    vectors: Tensor


class WordCache:
    """Remembers the vectors of up to `max_words` words, and of all known ones."""

    def __init__(
        self, projection_dim: int, max_words: int, known: KnownWords | None, device: torch.device
    ) -> None:
        if max_words < 0:
            raise ConfigError(f"cache_words is {max_words}; expected 0 or more")
        self.max_words = max_words
        self.hits = 0
        self.misses = 0
        self._n_known = len(known.vocab) if known else 0
        # Memory of which the system gives only what is written to.
        with torch.inference_mode(False):  # it outlives the mode it was made in
            self._table = torch.empty(self._n_known + max_words, projection_dim, device=device)
        self._lock = Lock()  # one Elmo may serve several threads
        after_fork_in_child(self._unlock)
        self._rows: dict[str, int] = {}
        self._ring: list[str] = []  # the word of each row after the known ones
        self._next = 0
        if known:
            self._rows = {word: row for row, word in enumerate(known.vocab)}
            self._table[: self._n_known] = known.vectors

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def hit_rate(self) -> float:
        """The share of distinct words, batch by batch, that were here already."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0

    def vectors(self, words: Sequence[str], spell: Callable[[list[str]], Tensor]) -> Tensor:
        """Return the vectors of distinct words (W, p); `spell` makes those that are not here."""
        with self._lock:
            rows = [self._rows.get(word, -1) for word in words]
            new = [place for place, row in enumerate(rows) if row < 0]
            self.hits += len(words) - len(new)
            self.misses += len(new)
            if not new:
                return self._table[rows]
            new_words = [words[place] for place in new]
            spelled = spell(new_words)
            found = spelled.new_empty(len(words), spelled.shape[1])
            found[new] = spelled
            here = [place for place, row in enumerate(rows) if row >= 0]
            found[here] = self._table[[rows[place] for place in here]]
            self._add(new_words, spelled)
            return found

    def clear(self) -> None:
        """Forget every word that was spelled; the known ones stay."""
        with self._lock:
            for word in self._ring:
                self._rows.pop(word, None)
            self._ring, self._next = [], 0

    def fingerprint(self) -> str:
        """Return a hash of the known words and their vectors."""
        digest = hashlib.sha256("\n".join(list(self._rows)[: self._n_known]).encode())
        digest.update(self._table[: self._n_known].numpy(force=True).data)
        return digest.hexdigest()

    def _unlock(self) -> None:
        """In a forked child: if another thread was at work here, drop what it left half done."""
        if self._lock.locked():
            self._lock = Lock()
            self.clear()

    def _add(self, words: Sequence[str], vectors: Tensor) -> None:
        """Remember words that are not here; the oldest go first."""
        rows = []
        for word in words[: self.max_words]:
            if len(self._ring) < self.max_words:
                self._ring.append(word)
            else:
                del self._rows[self._ring[self._next]]
                self._ring[self._next] = word
            self._rows[word] = self._n_known + self._next
            rows.append(self._rows[word])
            self._next = (self._next + 1) % self.max_words
        self._table[rows] = vectors[: len(rows)]
