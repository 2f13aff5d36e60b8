"""The negative samples of a sampled softmax: TensorFlow's log-uniform sampler, without repeats.

A vocabulary sorted by frequency follows Zipf's law, and so do the samples: word k is drawn with
p(k) = log((k + 2) / (k + 1)) / log(V + 1). Words are drawn until S distinct ones are found.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from elmore.errors import ConfigError


@dataclass(frozen=True)
class Samples:
    """The words that are scored instead of all."""

    words: Tensor
    """(S,) distinct rows of the softmax."""
    log_expected: Tensor
    """(V,) the log of the expected count of each word among the samples."""


class LogUniformSampler:
    """Draws S distinct words of V."""

    def __init__(self, n_words: int, n_samples: int) -> None:
        if n_samples > n_words:
            raise ConfigError(
                f"n_samples is {n_samples}, the vocabulary has {n_words} words; "
                "sample fewer, or take the full softmax"
            )
        self.n_words, self.n_samples = n_words, n_samples
        ranks = torch.arange(n_words, dtype=torch.float64)
        self.probabilities = ((ranks + 2) / (ranks + 1)).log() / math.log(n_words + 1)

    def draw(self, generator: torch.Generator) -> Samples:
        """Draw words; the same generator gives the same words."""
        if self.n_samples == self.n_words:  # every word, with certainty
            return Samples(torch.arange(self.n_words), torch.zeros(self.n_words))
        log_range = math.log(self.n_words + 1)
        drawn = torch.empty(0, dtype=torch.int64)
        while True:
            uniform = torch.rand(4 * self.n_samples, dtype=torch.float64, generator=generator)
            some = ((uniform * log_range).exp().long() - 1).clamp_(0, self.n_words - 1)
            drawn = torch.cat([drawn, some])
            first = self._first_places(drawn)
            if len(first) >= self.n_samples:
                break
        first = first[: self.n_samples]
        n_tries = int(first[-1]) + 1
        expected = -torch.expm1(n_tries * torch.log1p(-self.probabilities))
        return Samples(drawn[first], expected.log().float())

    def _first_places(self, drawn: Tensor) -> Tensor:
        """Return, in order, the positions of the first draw of each word."""
        places = torch.full((self.n_words,), len(drawn))
        places.scatter_reduce_(0, drawn, torch.arange(len(drawn)), "amin")
        return places[places < len(drawn)].sort().values
