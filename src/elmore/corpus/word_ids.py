"""Tokenized sentences and a vocabulary in, shards of word ids out; their layout: shards.py."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from elmore.corpus.manifest import ShardRecord, SplitRecord
from elmore.corpus.shards import write_shard
from elmore.corpus.tokenizing import MARKS
from elmore.text import UNKNOWN, Vocab

SHARD_WORDS = 2**20


class Numbering:
    """Writes shards, one split after the other, each with new ids for its outside words."""

    def __init__(self, vocab: Vocab, folder: Path, on_progress: Callable[[int], None]) -> None:
        """Write to `folder`; `on_progress` is called with the number of words of each shard."""
        self.folder = folder
        self.on_progress = on_progress
        self._n_rows = self._n_ids = len(vocab)
        self._rows = {word.encode("utf-8"): row for row, word in enumerate(vocab)}
        self._unknown = self._rows[UNKNOWN.encode("utf-8")]
        # Words of the text that look like marks are unknown words.
        self._rows |= {mark.encode("utf-8"): self._unknown for mark in MARKS}

    def write(self, sentences: Path, name: str) -> SplitRecord:
        """Number a file of tokenized sentences; return the split's entry of the manifest."""
        shards: list[ShardRecord] = []
        with sentences.open("rb") as file:
            for shard in _cut_shards(file, self._rows, self._n_ids):
                path = self.folder / f"{name}-{len(shards):05d}.shard"
                write_shard(path, shard.ids, shard.ends, list(shard.outside))
                ids = np.asarray(shard.ids)
                is_unknown = (ids == self._unknown) | (ids >= self._n_rows)
                shards.append(
                    ShardRecord(
                        file=path.name,
                        n_words=len(shard.ids),
                        n_sentences=len(shard.ends),
                        n_unknown=int(np.count_nonzero(is_unknown)),
                        n_outside=len(shard.outside),
                        first_outside=shard.first_outside,
                    )
                )
                self._n_ids += len(shard.outside)
                self.on_progress(len(shard.ids))
        return SplitRecord(
            n_words=sum(shard.n_words for shard in shards),
            n_sentences=sum(shard.n_sentences for shard in shards),
            n_unknown=sum(shard.n_unknown for shard in shards),
            shards=tuple(shards),
        )


@dataclass
class _Shard:
    first_outside: int
    ids: "array[int]" = field(default_factory=lambda: array("i"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    outside: dict[bytes, int] = field(default_factory=dict)


def _cut_shards(
    sentences: Iterable[bytes], rows: Mapping[bytes, int], first_outside: int
) -> Iterator[_Shard]:
    shard = _Shard(first_outside)
    for sentence in sentences:
        words = sentence.removesuffix(b"\n").split(b" ")
        ids = [rows.get(word, -1) for word in words]
        if -1 in ids:
            outside = shard.outside
            ids = [
                outside.setdefault(word, shard.first_outside + len(outside)) if row < 0 else row
                for word, row in zip(words, ids, strict=True)
            ]
        shard.ids.fromlist(ids)
        shard.ends.append(len(shard.ids))
        if len(shard.ids) >= SHARD_WORDS:
            yield shard
            shard = _Shard(shard.first_outside + len(shard.outside))
    if shard.ends:
        yield shard
