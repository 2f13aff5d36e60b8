"""The settings by which static vectors are trained, checked when they are made.

Imports no NumPy, so that the command line can show them at once.
"""

from dataclasses import dataclass

from elmore.checks import MAX_SEED, at_least
from elmore.errors import ConfigError

MAX_DIM = 65_536
"""Dimensions of a static vector, at most."""


@dataclass(frozen=True)
class SkipGramConfig:
    """How skip-gram is trained."""

    dim: int = 100
    """Dimensions of a vector."""
    window: int = 5
    """Words on either side that a word predicts, at most."""
    min_count: int = 5
    """Rarer words have no vector."""
    max_words: int = 200_000
    """The largest vocabulary; the most frequent words are kept."""
    n_negative: int = 5
    """Negative samples for each predicted word."""
    subsample: float = 1e-4
    """Words more frequent than this share of the text are subsampled; 0: none is."""
    n_epochs: int = 5
    """Epochs."""
    learning_rate: float = 0.025
    """The initial learning rate; it decays linearly, almost to 0."""
    n_threads: int = 1
    """Threads; with more than one the result is not deterministic."""
    seed: int = 1
    """Random seed."""

    def __post_init__(self) -> None:
        at_least(1, largest=MAX_DIM, dim=self.dim)
        at_least(
            1, largest=2**31 - 1, window=self.window, min_count=self.min_count,
            max_words=self.max_words, n_negative=self.n_negative, n_epochs=self.n_epochs,
        )  # fmt: skip
        at_least(1, largest=1024, n_threads=self.n_threads)
        at_least(0, largest=MAX_SEED, seed=self.seed)
        if not 0 <= self.subsample <= 1:
            raise ConfigError(f"subsample is {self.subsample}; expected a number from 0 to 1")
        if not 0 < self.learning_rate <= 1:  # gensim crashes where vectors overflow
            raise ConfigError(
                f"learning_rate is {self.learning_rate}; expected a number above 0, at most 1"
            )
