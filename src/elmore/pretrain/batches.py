"""Shards in, windows of text out: the input of each direction for each update.

A direction takes the corpus as one long sequence, split into equally long streams, one for each row
of the batch; a window is the next few tokens of each stream. Every epoch has its own order of
sentences: blocks of them are shuffled, and the sentences within a block. Each direction shuffles
for itself, as in bilm-tf.

A sentence of n words is n + 1 tokens. Forward, `<S>` and the words are read, and the words and
`</S>` are predicted; backward, `</S>` and the words from the last to the first are read.

The tokens of a window depend on its number alone, so the number is all that a checkpoint needs to
store. Shapes: T steps, B streams.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from elmore.corpus.shards import Corpus, Shard
from elmore.errors import DataError
from elmore.pretrain.config import TrainingConfig
from elmore.pretrain.step import Window
from elmore.text import BEGIN_SENTENCE, END_SENTENCE

Direction = Literal["forward", "backward"]
Ids = npt.NDArray[np.int64]

BLOCK_WORDS = 2**15


@dataclass(frozen=True)
class _Block:
    """Adjacent sentences of a shard, which are shuffled among themselves."""

    shard: Shard
    first: int
    last: int
    n_tokens: int


@dataclass
class _Text:
    """A shuffled block: tokens and the target of each."""

    number: tuple[int, int]
    """Its epoch and its position in it."""
    inputs: Ids
    targets: Ids


class Streams:
    """One direction's windows."""

    def __init__(
        self,
        corpus: Corpus,
        config: TrainingConfig,
        direction: Direction,
        streams: slice | None = None,
    ) -> None:
        """Take the rows of the batch that this process reads; none: all."""
        self.direction, self.seed = direction, config.seed
        self.n_streams, self.n_steps = config.batch_size, config.unroll_steps
        self.rows = range(config.batch_size)[streams or slice(None)]
        begin, end = corpus.vocab.encode([BEGIN_SENTENCE, END_SENTENCE]).tolist()
        self.start, self.stop = (begin, end) if direction == "forward" else (end, begin)
        self.blocks = [block for shard in corpus.training.shards for block in _blocks(shard)]
        self.n_tokens = sum(block.n_tokens for block in self.blocks)
        self.stream_length = self.n_tokens // self.n_streams
        self.n_windows = self.stream_length // self.n_steps
        """Windows in an epoch."""
        if self.n_windows == 0:
            raise DataError(
                f"the training text has {self.n_tokens:,} tokens, and one batch takes "
                f"{self.n_streams} x {self.n_steps}; choose a smaller batch_size or add more text"
            )
        self._epoch = -1
        self._texts: dict[int, _Text] = {}

    def window(self, number: int) -> Window:
        """Return a window by its number, which runs on from epoch to epoch."""
        epoch, place = divmod(number, self.n_windows)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = self._random(epoch).permutation(len(self.blocks))
            sizes = [self.blocks[block].n_tokens for block in self._order]
            self._starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        inputs = np.empty((self.n_steps, len(self.rows)), dtype=np.int64)
        targets = np.empty_like(inputs)
        for column, row in enumerate(self.rows):
            self._read(
                row,
                row * self.stream_length + place * self.n_steps,
                inputs[:, column],
                targets[:, column],
            )
        return Window(inputs, targets, inputs == self.start)

    def _read(self, row: int, start: int, inputs: Ids, targets: Ids) -> None:
        """Fill one stream's column from a position of the long sequence on."""
        done = 0
        while done < self.n_steps:
            place = bisect_right(self._starts, start + done) - 1
            text = self._texts.get(row)
            if text is None or text.number != (self._epoch, place):
                text = self._texts[row] = self._shuffled(place)
            offset = start + done - self._starts[place]
            size = min(self.n_steps - done, len(text.inputs) - offset)
            inputs[done : done + size] = text.inputs[offset : offset + size]
            targets[done : done + size] = text.targets[offset : offset + size]
            done += size

    def _shuffled(self, place: int) -> _Text:
        """Return a block with its sentences in the order of this epoch."""
        number = int(self._order[place])
        block = self.blocks[number]
        ends = block.shard.ends
        bounds = np.array(ends[max(block.first - 1, 0) : block.last])
        if block.first == 0:
            bounds = np.concatenate([[0], bounds])
        words = np.array(block.shard.ids[bounds[0] : bounds[-1]])
        block.shard.close()  # mapped pages would stay in memory, shard after shard
        bounds = bounds - bounds[0]
        order = self._random(self._epoch, number).permutation(len(bounds) - 1)
        first, lengths = bounds[:-1][order], np.diff(bounds)[order]
        starts = np.cumsum(lengths + 1) - (lengths + 1)  # of the sentences, in tokens
        offsets = np.arange(block.n_tokens) - np.repeat(starts, lengths + 1)  # 0 is the mark
        if self.direction == "forward":
            places = np.repeat(first - 1, lengths + 1) + offsets
        else:
            places = np.repeat(first + lengths, lengths + 1) - offsets
        inputs = words[np.clip(places, 0, len(words) - 1)].astype(np.int32)
        inputs[starts] = self.start
        targets = np.roll(inputs, -1)
        targets[starts - 1] = self.stop
        return _Text((self._epoch, place), inputs, targets)

    def _random(self, *numbers: int) -> np.random.Generator:
        side = ("forward", "backward").index(self.direction)
        return np.random.default_rng([self.seed, side, *numbers])


def _blocks(shard: Shard) -> list[_Block]:
    """Split a shard into blocks of about `BLOCK_WORDS` words."""
    ends = np.array(shard.ends)
    shard.close()
    cuts = np.searchsorted(ends, np.arange(BLOCK_WORDS, shard.n_words, BLOCK_WORDS)) + 1
    bounds = [0, *np.unique(cuts[cuts < len(ends)]).tolist(), len(ends)]
    blocks = []
    for first, last in pairwise(bounds):
        n_words = int(ends[last - 1] - (ends[first - 1] if first else 0))
        blocks.append(_Block(shard, first, last, n_words + last - first))
    return blocks
