"""Texts in, the log-probability of each word out, by the full softmax, in both directions.

`Elmo.scores` and perplexity are made of this. Each text starts from the zero state, so that its
scores do not depend on other texts.

Shapes: T words of a text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.engine.reader import ReadBatch, Reader
from elmore.engine.softmax import Softmax
from elmore.kernels.library import Floats
from elmore.text.chars import BEGIN_SENTENCE, END_SENTENCE
from elmore.text.vocab import Vocab


@dataclass(frozen=True)
class TextScores:
    """Natural log-probabilities of the T words of one text and of the mark at its other end."""

    forward: Floats
    """(T + 1,) log p(token | those before it): of each word, and last of the end of sentence."""
    backward: Floats
    """(T + 1,) log p(token | those after it): of the beginning of sentence, and of each word."""
    words: npt.NDArray[np.int64]
    """(T,) the row of the vocabulary that each word was scored as."""


class WordScorer:
    """Scores texts by a model's softmax over its vocabulary."""

    def __init__(self, reader: Reader, softmax: Softmax, vocab: Vocab) -> None:
        self.reader, self.softmax, self.vocab = reader, softmax, vocab
        self._marks = vocab.encode([BEGIN_SENTENCE, END_SENTENCE])

    def score(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[int, TextScores]]:
        """Yield (number, scores) for each text, in the order of the batches."""
        for batch in self.reader.batches(texts):
            yield from self._score(batch, texts)

    def _score(
        self, batch: ReadBatch, texts: Sequence[Sequence[str]]
    ) -> Iterator[tuple[int, TextScores]]:
        begin, end = self._marks
        words = [self.vocab.encode(texts[number]) for number in batch.texts]
        ids = np.concatenate([[begin, *row, end] for row in words])
        is_last = np.zeros(len(ids), dtype=bool)
        is_last[np.cumsum(batch.lengths) - 1] = True
        scored = self.softmax.word_log_probs(
            batch.layers[-1], ids, forward=~np.roll(is_last, 1), backward=~is_last
        )
        start = 0
        for number, row in zip(batch.texts, words, strict=True):
            some = slice(start, start := start + len(row) + 1)
            yield number, TextScores(scored.forward[some], scored.backward[some], row)
