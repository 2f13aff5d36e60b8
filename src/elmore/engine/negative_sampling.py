"""The negative samples of a sampled softmax: TensorFlow's log-uniform sampler, without repeats.

A vocabulary sorted by frequency follows Zipf's law, and so do the samples: word k is drawn with
p(k) = log((k + 2) / (k + 1)) / log(V + 1). Words are drawn until S distinct ones are found.
Logarithms and powers are computed by sums and products, to the same bits on any processor.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.errors import ConfigError
from elmore.kernels.gradients import Rows, logarithms
from elmore.kernels.library import Floats

Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """The words that are scored instead of all."""

    words: Rows
    """(S,) distinct rows of the softmax."""
    n_tries: int
    """How many words were drawn until these were found."""


class LogUniformSampler:
    """Draws S distinct words of V."""

    def __init__(self, n_words: int, n_samples: int) -> None:
        if n_samples > n_words:
            raise ConfigError(
                f"n_samples is {n_samples}, the vocabulary has {n_words} words; "
                "sample fewer, or take the full softmax"
            )
        self.n_words, self.n_samples = n_words, n_samples
        logs = logarithms(np.arange(1, n_words + 2, dtype=np.float64))
        self.probabilities: Float64s = np.diff(logs) / logs[-1]
        """(V,) of each word."""
        self._up_to: Float64s = logs[1:] / logs[-1]

    def draw(self, random: np.random.Generator) -> Samples:
        """Draw words; the same generator gives the same words."""
        if self.n_samples == self.n_words:  # every word, with certainty
            return Samples(np.arange(self.n_words, dtype=np.int32), 0)
        drawn = np.empty(0, np.int64)
        while True:
            some = np.searchsorted(self._up_to, random.random(4 * self.n_samples), side="right")
            drawn = np.concatenate([drawn, np.minimum(some, self.n_words - 1)])
            words, first = np.unique(drawn, return_index=True)
            if len(words) >= self.n_samples:
                break
        order = np.argsort(first)[: self.n_samples]
        return Samples(words[order].astype(np.int32), int(first[order[-1]]) + 1)

    def log_expected(self, samples: Samples, words: Rows) -> Floats:
        """Return the log of how often each of some words is expected among samples, 0 to 1."""
        if not samples.n_tries:
            return np.zeros(len(words), np.float32)
        never, power = np.ones(len(words)), 1 - self.probabilities[words]
        for bit in bin(samples.n_tries)[:1:-1]:  # (1 - p) ** n_tries
            if bit == "1":
                never *= power
            power *= power
        return logarithms(1 - never).astype(np.float32)
