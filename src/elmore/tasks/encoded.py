"""Readings in, batches of token vectors out.

Each distinct sentence is stored once, however many examples have it: the questions of a paragraph
share its vectors. The sentences of a text are read by the biLM one by one, and are one sequence of
tokens for the task.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from elmore.tasks.input_networks import TokenBatch
from elmore.tasks.inputs import Chosen, Lookup
from elmore.tasks.layer_cache import TokenTuple
from elmore.tasks.task import Batch, Part, Reading, as_tensor

_BATCHES_SORTED_TOGETHER = 50


class StoredSentences:
    """Distinct sentences, none empty, with what each input has stored of them."""

    def __init__(self, tokens: Sequence[TokenTuple], lookups: Sequence[Lookup]) -> None:
        self.tokens = tokens
        self.lookups = lookups
        self.lengths = np.array([len(sentence) for sentence in tokens])
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)])

    def batch(self, texts: Sequence[Sequence[int]]) -> TokenBatch:
        """Put some texts together, each given by the rows of its sentences."""
        rows = [row for text in texts for row in text]
        lengths = np.array([self.lengths[list(text)].sum() for text in texts])
        chosen = Chosen(
            [self.tokens[row] for row in rows],
            np.concatenate([np.arange(self._starts[row], self._starts[row + 1]) for row in rows]),
            np.arange(lengths.max()) < lengths[:, None],
        )
        values = tuple(lookup(chosen) for lookup in self.lookups)
        return TokenBatch(torch.from_numpy(chosen.mask), torch.tensor(self.lengths[rows]), values)


def distinct_sentences(
    readings: Sequence[Reading],
) -> tuple[list[TokenTuple], list[tuple[list[int], ...]]]:
    """Return the distinct sentences of examples, and for each example the rows of its texts'."""
    rows: dict[TokenTuple, int] = {}
    examples = []
    for reading in readings:
        sides = []
        for text in reading.texts:
            sentences = [sentence for sentence in text if sentence] or [("",)]  # it has no words
            sides.append([rows.setdefault(sentence, len(rows)) for sentence in sentences])
        examples.append(tuple(sides))
    return list(rows), examples


@dataclass(frozen=True)
class EncodedExamples:
    """Examples as a network reads them."""

    sentences: StoredSentences
    rows: Sequence[tuple[list[int], ...]]
    """The sentences of each text of each example."""
    readings: Sequence[Reading]
    targets: Sequence[object] | None

    def __len__(self) -> int:
        return len(self.readings)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the tokens of all texts of each example."""
        by_row = self.sentences.lengths
        return np.array([sum(int(by_row[side].sum()) for side in sides) for sides in self.rows])

    def parts(
        self, choose: Callable[[Any, Any, random.Random], Part], seed: str
    ) -> "EncodedExamples":
        """Return a part of each example, chosen by a seed; see `Task.part`."""
        assert self.targets is not None
        rng = random.Random(seed)
        found = [choose(*one, rng) for one in zip(self.readings, self.targets, strict=True)]
        rows = [(text[one.sentences],) for (text,), one in zip(self.rows, found, strict=True)]
        return replace(
            self,
            rows=rows,
            readings=[one.reading for one in found],
            targets=[one.target for one in found],
        )

    def batch(self, chosen: Sequence[int]) -> Batch:
        """Put some examples together."""
        sides = tuple(
            self.sentences.batch([self.rows[k][side] for k in chosen])
            for side in range(len(self.rows[chosen[0]]))
        )
        readings = [self.readings[k] for k in chosen]
        targets = None if self.targets is None else as_tensor([self.targets[k] for k in chosen])
        return Batch(sides, readings, targets)

    def shuffled_batches(self, size: int, seed: str) -> Iterator[list[int]]:
        """Give the rows of each batch, shuffled by a seed."""
        lengths, rows, rng = self.lengths(), list(range(len(self))), random.Random(seed)
        rng.shuffle(rows)
        together = size * _BATCHES_SORTED_TOGETHER  # texts of similar length need little padding
        for first in range(0, len(rows), together):
            some = sorted(rows[first : first + together], key=lambda row: -lengths[row])
            batches = [some[k : k + size] for k in range(0, len(some), size)]
            rng.shuffle(batches)
            yield from batches

    def sorted_batches(self, size: int, max_tokens: int) -> Iterator[list[int]]:
        """Give the rows of each batch, in order of length.

        A batch has at most `size` examples, and `max_tokens` tokens with padding unless it is one
        example.
        """
        lengths = self.lengths()
        rows = sorted(range(len(self)), key=lambda row: -lengths[row])
        first = 0
        while first < len(rows):
            fitting = max(1, max_tokens // max(1, int(lengths[rows[first]])))
            batch = rows[first : first + min(size, fitting)]
            yield batch
            first += len(batch)
