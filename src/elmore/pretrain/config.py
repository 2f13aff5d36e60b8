"""All that decides a training run, checked as soon as it is written down.

A recipe has five tables: [corpus], [token_encoder], [lstm], [static] and [training]. The second and
the third are the model's own configuration.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from elmore.errors import ConfigError
from elmore.model import BiLMConfig, CharCnnConfig, CharWordConfig, LstmConfig, Precision
from elmore.text import Normalization
from elmore.text.reading import Reading
from elmore.text.sentences import check_language

Optimizer = Literal["adagrad", "adamw"]
Decay = Literal["none", "linear", "cosine"]
StartOfSentence = Literal["carried", "zero"]
SoftmaxKind = Literal["auto", "full", "sampled"]
StaticPlace = Literal["word_table", "softmax"]
Lookup = Literal["any-case", "exact"]
Part = Literal["token_encoder", "word_table", "lstm", "softmax"]

N_MARKS = 3  # <S>, </S> and <UNK>: the first rows of every vocabulary


@dataclass(frozen=True)
class CorpusConfig:
    """How raw text becomes sentences of numbered words."""

    tokenizer: str = "english"
    """The name of the tokenizer; it is stored in the model."""
    normalization: Normalization | None = "NFC"
    """NFC: characters that are written in several parts, as Hangul on macOS, become one; none: text
    is taken as it is. It is stored in the model."""
    split_sentences: str | None = None
    """A language, such as en or ko, whose rules split each line into sentences; none: a line is
    a sentence."""
    min_count: int = 1
    """A word that occurs less often than this in the training text is not in the vocabulary."""
    max_words: int = 50_000
    """The most words that the vocabulary may have, its three marks included."""
    held_out: float = 0.01
    """The share of the lines that is kept from training, to measure perplexity on."""
    lowercase: float = 0.0
    """The share of the training lines that is read in lower case, so that a model of cased text
    knows text without capitals too."""
    text_field: str = "text"
    """The field of the text in .jsonl, .csv, .tsv and .parquet files."""

    def __post_init__(self) -> None:
        _names(tokenizer=self.tokenizer, text_field=self.text_field)
        if self.normalization is not None:
            _one_of(Normalization, normalization=self.normalization)
        if self.split_sentences is not None:
            _names(split_sentences=self.split_sentences)
            check_language(self.split_sentences)
        _at_least(1, min_count=self.min_count)
        _at_least(N_MARKS + 1, max_words=self.max_words)
        _numbers(held_out=self.held_out, lowercase=self.lowercase)
        if not 0 <= self.lowercase <= 1:
            raise ConfigError(f"lowercase is {self.lowercase}; expected a share from 0 to 1")
        if not 0 <= self.held_out <= 0.5:
            raise ConfigError(f"held_out is {self.held_out}; expected a share from 0 to 0.5")

    @property
    def reading(self) -> Reading:
        """How lines become sentences of words."""
        return Reading(self.tokenizer, self.normalization, self.split_sentences)


@dataclass(frozen=True)
class StaticConfig:
    """Static word vectors that the network starts from."""

    static: str | None = None
    """A file or folder of static vectors (GloVe, word2vec, fastText, elmore skipgram), or skipgram,
    which first trains them on the same text; none: words start from their characters alone."""
    static_fills: tuple[StaticPlace, ...] = ("word_table", "softmax")
    """What they fill: word_table (a table whose rows are added to the char CNN's vectors), softmax
    (its rows, and its bias by word counts)."""
    static_scale: float = 0.35
    """The standard deviation of the word table at the start."""
    static_lookup: Lookup = "any-case"
    """any-case: a word without a vector has that of its lower-case, capitalized or upper-case form;
    exact: it has none."""
    skipgram_dim: int = 128
    """With --static skipgram: dimensions of the vectors."""
    skipgram_window: int = 5
    """With --static skipgram: the farthest word on either side that a word predicts."""
    skipgram_epochs: int = 3
    """With --static skipgram: how often the text is read."""

    def __post_init__(self) -> None:
        if self.static is not None:
            _names(static=self.static)
        if not isinstance(self.static_fills, tuple) or not self.static_fills:
            raise ConfigError(
                f"static_fills is {self.static_fills!r}; expected a list of word_table, softmax"
            )
        for place in self.static_fills:
            _one_of(StaticPlace, static_fills=place)
        _numbers(static_scale=self.static_scale)
        if not 0 < self.static_scale < math.inf:
            raise ConfigError(f"static_scale is {self.static_scale}; expected a number above 0")
        _one_of(Lookup, static_lookup=self.static_lookup)
        _at_least(
            1, skipgram_dim=self.skipgram_dim, skipgram_window=self.skipgram_window,
            skipgram_epochs=self.skipgram_epochs,
        )  # fmt: skip

    @property
    def has_table(self) -> bool:
        """Whether the network gets a word table."""
        return self.static is not None and "word_table" in self.static_fills


@dataclass(frozen=True)
class TrainingConfig:
    """How the network learns."""

    n_epochs: float = 10.0
    """How often the corpus is read; 0.5 reads half of it."""
    batch_size: int = 128
    """Streams of text that are read side by side, over all processes together."""
    unroll_steps: int = 20
    """Tokens that each stream gives to a batch; gradients go back so far, states are carried on."""
    state: StartOfSentence = "zero"
    """What a sentence begins from: zero is nothing, as `Elmo` reads; carried is what the sentence
    before left, as published."""
    accumulate: int = 1
    """Batches whose gradients are summed into one update."""
    softmax: SoftmaxKind = "auto"
    """full scores every word, sampled a sample of them; auto takes sampled where it is smaller
    by half."""
    n_samples: int = 8192
    """Words that a sampled softmax draws for each batch, all different."""
    dropout: float = 0.1
    """The share of numbers that is left out of what each layer reads and of what the last gives."""
    word_dropout: float = 0.1
    """The share of words whose row of the word table is left out of a batch, so that their
    characters must do; it has no effect on a model without a table."""
    word_table_rate: float = 1.0
    """The learning rate of the word table, as a multiple of learning_rate."""
    optimizer: Optimizer = "adagrad"
    """adagrad as published, or adamw."""
    learning_rate: float = 0.2
    """The size of an update; 0.2 suits adagrad, 0.001 to 0.01 adamw."""
    warmup_steps: int = 0
    """Updates over which the learning rate rises from zero."""
    decay: Decay = "none"
    """How the learning rate falls to zero after the warm-up: none, linear or cosine."""
    weight_decay: float = 0.0
    """The share of each weight that adamw takes away, times the learning rate."""
    clip_norm: float = 10.0
    """The largest norm of all gradients together."""
    precision: Precision = "float32"
    """What products are made in: float32 or bfloat16."""
    frozen: tuple[Part, ...] = ()
    """Parts that do not learn: token_encoder (its characters), word_table, lstm, softmax."""
    seed: int = 1
    """Decides every random choice."""
    evaluate_every: int = 500
    """Updates between two measurements on the held-out text."""
    max_held_out_tokens: int = 100_000
    """How much of the held-out text each of them reads."""
    patience: int = 0
    """Measurements without a new best after which training ends; 0: it does not end early."""
    checkpoint_every: int = 100
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        _at_least(
            1, batch_size=self.batch_size, unroll_steps=self.unroll_steps,
            accumulate=self.accumulate, n_samples=self.n_samples,
            evaluate_every=self.evaluate_every, max_held_out_tokens=self.max_held_out_tokens,
            checkpoint_every=self.checkpoint_every,
        )  # fmt: skip
        _at_least(0, warmup_steps=self.warmup_steps, patience=self.patience, seed=self.seed)
        if self.seed >= 2**63:
            raise ConfigError(f"seed is {self.seed}; expected less than 2^63")
        _one_of(SoftmaxKind, softmax=self.softmax)
        _one_of(StartOfSentence, state=self.state)
        _one_of(Optimizer, optimizer=self.optimizer)
        _one_of(Decay, decay=self.decay)
        _one_of(Precision, precision=self.precision)
        if not isinstance(self.frozen, tuple):
            raise ConfigError(f"frozen is {self.frozen!r}; expected a list of parts")
        for part in self.frozen:
            _one_of(Part, frozen=part)
        if set(self.frozen) >= set(get_args(Part)) - {"word_table"}:
            raise ConfigError("frozen names every part, so nothing would learn; leave one out")
        _numbers(
            n_epochs=self.n_epochs, learning_rate=self.learning_rate, clip_norm=self.clip_norm,
            dropout=self.dropout, weight_decay=self.weight_decay, word_dropout=self.word_dropout,
            word_table_rate=self.word_table_rate,
        )  # fmt: skip
        for name in ("n_epochs", "learning_rate", "clip_norm", "word_table_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected a number above 0")
        for name in ("dropout", "word_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}; expected a share from 0 to below 1"
                )
        if not 0 <= self.weight_decay < math.inf:
            raise ConfigError(f"weight_decay is {self.weight_decay}; expected 0 or more")


@dataclass(frozen=True)
class Recipe:
    """A whole training run, but for the text itself."""

    corpus: CorpusConfig
    token_encoder: CharCnnConfig
    lstm: LstmConfig
    static: StaticConfig
    training: TrainingConfig

    def bilm_config(self, n_words: int) -> BiLMConfig:
        """Return the shape of the network for a vocabulary of so many words."""
        encoder: CharCnnConfig | CharWordConfig = self.token_encoder
        if self.static.has_table:
            encoder = CharWordConfig(self.token_encoder, n_words)
        return BiLMConfig(encoder, self.lstm, n_words)


def _at_least(smallest: int, **values: int) -> None:
    for name, value in values.items():
        if type(value) is not int or value < smallest:
            raise ConfigError(f"{name} is {value!r}; expected a whole number, at least {smallest}")


def _numbers(**values: float) -> None:
    for name, value in values.items():
        if type(value) not in (int, float):
            raise ConfigError(f"{name} is {value!r}; expected a number")


def _names(**values: str) -> None:
    for name, value in values.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name} is {value!r}; expected a name")


def _one_of(kind: object, **values: str) -> None:
    for name, value in values.items():
        if value not in get_args(kind):
            raise ConfigError(f"{name} is {value!r}; expected one of {', '.join(get_args(kind))}")
