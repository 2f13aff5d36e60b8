"""The settings of a training run, checked when they are made.

A recipe has five tables: [corpus], [token_encoder], [lstm], [static] and [training]. The second and
the third are the model's own configuration.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    Part,
    Precision,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.checks import at_least, numbers, one_of, strings
from elmore.corpus.config import CorpusConfig
from elmore.errors import ConfigError
from elmore.static.config import MAX_DIM

OptimizerName = Literal["adagrad", "adamw"]
Decay = Literal["none", "linear", "cosine"]
StartOfSentence = Literal["carried", "zero"]
SoftmaxKind = Literal["auto", "full", "sampled"]
StaticPlace = Literal["word_table", "softmax"]
Lookup = Literal["any-case", "exact"]

_LARGEST, _LARGEST_RATE = 2**31 - 1, 10**6  # beyond these a number is a mistake


@dataclass(frozen=True)
class StaticConfig:
    """Static word vectors that the network starts from."""

    static: str | None = None
    """A file or folder of static vectors (GloVe, word2vec, fastText, elmore skipgram), or skipgram,
    to train them on the same text first; none: words start from their characters alone."""
    static_fills: tuple[StaticPlace, ...] = ("word_table", "softmax")
    """What they initialize: word_table (a table whose rows are added to the char CNN's vectors),
    softmax (its rows, and its bias by word counts)."""
    static_scale: float = 0.35
    """The standard deviation of the word table at the start."""
    static_lookup: Lookup = "any-case"
    """any-case: a word without a vector has that of its lower-case, capitalized or upper-case form;
    exact: it has none."""
    skipgram_dim: int = 128
    """With --static skipgram: dimensions of the vectors."""
    skipgram_window: int = 5
    """With --static skipgram: the number of words on either side that a word predicts."""
    skipgram_epochs: int = 3
    """With --static skipgram: epochs."""

    def __post_init__(self) -> None:
        if self.static is not None:
            strings(static=self.static)
        if not isinstance(self.static_fills, tuple) or not self.static_fills:
            raise ConfigError(
                f"static_fills is {self.static_fills!r}; expected a list of word_table, softmax"
            )
        for place in self.static_fills:
            one_of(StaticPlace, static_fills=place)
        numbers(static_scale=self.static_scale)
        if not 0 < self.static_scale <= _LARGEST_RATE:
            raise ConfigError(
                f"static_scale is {self.static_scale}; expected a number above 0, at most 1,000,000"
            )
        one_of(Lookup, static_lookup=self.static_lookup)
        at_least(1, largest=MAX_DIM, skipgram_dim=self.skipgram_dim)
        at_least(
            1, largest=_LARGEST_RATE, skipgram_window=self.skipgram_window,
            skipgram_epochs=self.skipgram_epochs,
        )  # fmt: skip

    @property
    def has_table(self) -> bool:
        """Whether the network gets a word table."""
        return self.static is not None and "word_table" in self.static_fills


@dataclass(frozen=True)
class TrainingConfig:
    """How the network is trained."""

    n_epochs: float = 10.0
    """Epochs; 0.5 is half of the corpus."""
    batch_size: int = 128
    """Parallel streams of text, over all processes together."""
    unroll_steps: int = 20
    """Tokens of each stream in a batch: gradients go back so far (truncated BPTT)."""
    state: StartOfSentence = "zero"
    """The LSTM state at the start of a sentence: zero, as in `Elmo`; or carried over from the
    sentence before, as published."""
    accumulate: int = 1
    """Batches whose gradients are summed into one update."""
    softmax: SoftmaxKind = "auto"
    """full scores every word, sampled a sample of them; auto takes sampled where it is smaller
    by half."""
    n_samples: int = 8192
    """Words that a sampled softmax draws for each batch, all different."""
    dropout: float = 0.1
    """Dropout on the input of each LSTM layer and on the output of the last."""
    word_dropout: float = 0.1
    """The share of words whose row of the word table is left out of a batch, so that the char CNN
    learns to do without it; no effect on models without a table and of ELMoForManyLangs."""
    word_table_rate: float = 1.0
    """The learning rate of the word table, as a multiple of learning_rate."""
    optimizer: OptimizerName = "adagrad"
    """adagrad as published, or adamw."""
    learning_rate: float = 0.2
    """The learning rate; 0.2 suits adagrad, 0.001 to 0.01 adamw."""
    warmup_steps: int = 0
    """Updates over which the learning rate rises from zero."""
    decay: Decay = "none"
    """How the learning rate falls to zero after the warm-up: none, linear or cosine."""
    decay_steps: int = 0
    """Updates at the end over which the learning rate falls, after a constant phase; then a run can
    be made longer until they begin. 0: it falls over all updates after the warm-up."""
    weight_decay: float = 0.0
    """The weight decay of adamw, which is multiplied by the learning rate."""
    clip_norm: float = 10.0
    """Gradients are clipped to this global norm."""
    precision: Precision = "float32"
    """The precision of matrix products: float32 or bfloat16."""
    frozen: tuple[Part, ...] = ()
    """Frozen parts: token_encoder (its characters), word_table, lstm, softmax."""
    seed: int = 1
    """The random seed of every random choice."""
    evaluate_every: int = 500
    """Updates between two measurements on the held-out text."""
    max_held_out_tokens: int = 100_000
    """The tokens of held-out text in each measurement."""
    patience: int = 0
    """Measurements without a new best until early stopping; 0: no early stopping."""
    checkpoint_every: int = 100
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        at_least(
            1, largest=_LARGEST, batch_size=self.batch_size, unroll_steps=self.unroll_steps,
            accumulate=self.accumulate, n_samples=self.n_samples,
            evaluate_every=self.evaluate_every, max_held_out_tokens=self.max_held_out_tokens,
            checkpoint_every=self.checkpoint_every,
        )  # fmt: skip
        at_least(
            0, largest=_LARGEST, warmup_steps=self.warmup_steps, decay_steps=self.decay_steps,
            patience=self.patience,
        )  # fmt: skip
        at_least(0, seed=self.seed)
        if self.seed >= 2**63:
            raise ConfigError(f"seed is {self.seed}; expected less than 2^63")
        one_of(SoftmaxKind, softmax=self.softmax)
        one_of(StartOfSentence, state=self.state)
        one_of(OptimizerName, optimizer=self.optimizer)
        one_of(Decay, decay=self.decay)
        one_of(Precision, precision=self.precision)
        if not isinstance(self.frozen, tuple):
            raise ConfigError(f"frozen is {self.frozen!r}; expected a list of parts")
        for part in self.frozen:
            one_of(Part, frozen=part)
        if set(self.frozen) >= set(get_args(Part)) - {"word_table"}:
            raise ConfigError(
                "frozen names every part but the word table, which is not trained alone; leave "
                "one out"
            )
        numbers(
            n_epochs=self.n_epochs, learning_rate=self.learning_rate, clip_norm=self.clip_norm,
            dropout=self.dropout, weight_decay=self.weight_decay, word_dropout=self.word_dropout,
            word_table_rate=self.word_table_rate,
        )  # fmt: skip
        if not 0 < self.clip_norm < math.inf:
            raise ConfigError(f"clip_norm is {self.clip_norm}; expected a number above 0")
        for name in ("n_epochs", "learning_rate", "word_table_rate"):
            if not 0 < getattr(self, name) <= _LARGEST_RATE:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}; expected a number above 0, at most 1,000,000"
                )
        for name in ("dropout", "word_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}; expected a share from 0 to below 1"
                )
        if not 0 <= self.weight_decay <= _LARGEST_RATE:
            raise ConfigError(
                f"weight_decay is {self.weight_decay}; expected 0 or more, at most 1,000,000"
            )


@dataclass(frozen=True)
class Recipe:
    """All settings of a training run, without the text itself."""

    corpus: CorpusConfig
    token_encoder: CharCnnConfig
    lstm: LstmConfig
    static: StaticConfig
    training: TrainingConfig

    def bilm_config(self, n_words: int) -> BiLMConfig:
        """Return the shape of the network for a vocabulary of so many words."""
        words = None
        if self.static.has_table:
            words = WordTableConfig(n_words, self.lstm.projection_dim)
        return BiLMConfig(TokenEncoderConfig(self.token_encoder, words), self.lstm, n_words)
