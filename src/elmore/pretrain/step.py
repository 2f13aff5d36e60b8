"""Windows of text in, losses and gradients out: the forward and backward pass of one update.

The distinct words of both directions are encoded once: from their characters and, with a word
table, by their rows of it. Then both directions read their windows, predict the next words and
backpropagate through time; at the end the words' gradients go through the token encoder.

Every random number is a function of the seed and the update's number, so a resumed run draws the
same numbers. Shapes: T steps, B streams, N = T B tokens, W distinct words, p
projection_dim.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import BiLMConfig
from elmore.engine.negative_sampling import LogUniformSampler, Samples
from elmore.engine.parallel import run_all
from elmore.engine.parameters import Gradients, Parameters
from elmore.engine.training.dropout import Dropout
from elmore.engine.training.lstm import DirectionTraining
from elmore.engine.training.softmax import SoftmaxTraining
from elmore.engine.training.token_encoder import RowGradient, TokenEncoderTraining
from elmore.kernels.gradients import Rows, add_rows
from elmore.kernels.library import Array, Floats
from elmore.pretrain.config import TrainingConfig

Ids = npt.NDArray[np.int64]

DIRECTIONS = ("forward", "backward")

# The weights with sparse gradients, by their names in the network.
SOFTMAX_WEIGHT, SOFTMAX_BIAS = "softmax.weight", "softmax.bias"
WORD_TABLE = "token_encoder.words.weight"

_WORD_DROPOUT = 2  # its stream of random numbers; 0 and 1 are the directions' dropout


@dataclass(frozen=True)
class Window:
    """The input of one direction, in its reading order."""

    inputs: Ids
    """(T, B) words."""
    targets: Ids
    """(T, B) the next word of each."""
    starts: npt.NDArray[np.bool_]
    """(T, B) whether the word is the mark at the start of a sentence."""


@dataclass(frozen=True)
class StreamState:
    """The LSTM state of one direction's streams after a window."""

    h: Floats
    """The output, (L, B, p)."""
    c: Floats
    """The cell state, (L, B, c)."""


States = tuple[StreamState, StreamState]
"""Of the forward and the backward direction."""


def zero_states(config: BiLMConfig, n_streams: int) -> States:
    """Return the states before the first window."""

    def zeros(dim: int) -> Floats:
        return np.zeros((config.lstm.n_layers, n_streams, dim), np.float32)

    first, second = (
        StreamState(zeros(config.lstm.projection_dim), zeros(config.lstm.cell_dim))
        for _ in DIRECTIONS
    )
    return first, second


@dataclass(frozen=True)
class Update:
    """Losses and gradients of an update, before it is applied."""

    losses: tuple[float, float]
    """The mean negative log-likelihood of a token, forward and backward."""
    rows: Mapping[str, RowGradient]
    """The sparse gradients: of the softmax and the word table."""
    states: States
    """The LSTM states after the last window."""


class Step(ABC):
    """What computes the gradients of a biLM, and all that it draws or looks up for that."""

    def __init__(
        self,
        shape: BiLMConfig,
        parameters: Parameters,
        config: TrainingConfig,
        encode_ids: Callable[[Ids], npt.NDArray[np.integer]],
        *,
        unknown: int,
        streams: slice | None = None,
        gather: Callable[[Array], Array] = lambda words: words,
    ) -> None:
        """Take what turns word ids into token ids, and the row of `<UNK>`.

        `streams` are this process's; `gather` gathers arrays of all processes.
        """
        assert shape.n_softmax_words is not None
        self.shape, self.config, self.encode_ids = shape, config, encode_ids
        self.unknown, self.gather = unknown, gather
        self.streams = streams or slice(0, config.batch_size)
        self.arrays, self.n_words = parameters.arrays, shape.n_softmax_words
        self.gradients = Gradients(parameters)
        self.sampler = (
            LogUniformSampler(self.n_words, config.n_samples)
            if is_sampled(config, self.n_words)
            else None
        )

    @abstractmethod
    def __call__(
        self, windows: Sequence[tuple[Window, Window]], states: States, number: int
    ) -> Update:
        """Compute the gradients of update `number` over its windows (forward, backward)."""

    @property
    def scale(self) -> float:
        """The factor of a token's gradient: a mean over streams, a sum over steps, as published."""
        return 0.5 / (self.config.batch_size * self.config.accumulate)

    def samples(self, number: int) -> Samples | None:
        """Return the words that are scored in update `number`; None: all."""
        if self.sampler is None:
            return None
        return self.sampler.draw(np.random.default_rng([self.config.seed, number]))

    def words(self, pair: tuple[Window, Window]) -> Ids:
        """Return the distinct input words of a window, of all processes."""
        inputs = np.concatenate([window.inputs.ravel() for window in pair])
        return np.unique(self.gather(inputs))

    def targets(self, window: Window) -> Rows:
        """Return the rows of the softmax of a window's targets, (N,)."""
        words = window.targets.ravel()
        return np.where(words < self.n_words, words, self.unknown).astype(np.int32)

    def kept_rows(self, number: int, place: int) -> npt.NDArray[np.bool_]:
        """Return which rows of the word table word dropout keeps; concatenated rows have none."""
        words = self.shape.token_encoder.words
        kept = np.ones(0 if words is None else words.n_words, np.float32)
        if self.shape.token_encoder.combine == "add":
            rate = self.config.word_dropout
            Dropout.seeded(rate, self.config.seed, number, place, _WORD_DROPOUT).drop(kept)
        return kept > 0

    def dropouts(self, number: int, place: int, direction: int) -> list[Dropout]:
        """Return the dropout of each layer's input and of the last output."""
        rate = self.config.dropout
        if rate == 0:
            return []
        return [
            Dropout.seeded(rate, self.config.seed, number, place, direction, depth)
            for depth in range(self.shape.lstm.n_layers + 1)
        ]


class TrainingStep(Step):
    """Computes the gradients by kernels."""

    def __init__(
        self,
        shape: BiLMConfig,
        parameters: Parameters,
        config: TrainingConfig,
        encode_ids: Callable[[Ids], npt.NDArray[np.integer]],
        **options: Any,
    ) -> None:
        super().__init__(shape, parameters, config, encode_ids, **options)
        self.bfloat16 = config.precision == "bfloat16"
        self.encoder = TokenEncoderTraining(
            shape.token_encoder, self.arrays, bfloat16=self.bfloat16
        )
        self.directions = [
            DirectionTraining(
                shape.lstm,
                self.arrays,
                f"{direction}_lstm",
                (config.unroll_steps, self.streams.stop - self.streams.start),
                bfloat16=self.bfloat16,
                streams=(self.streams.start, config.batch_size),
            )
            for direction in DIRECTIONS
        ]
        self._softmax: SoftmaxTraining | None = None

    def __call__(
        self, windows: Sequence[tuple[Window, Window]], states: States, number: int
    ) -> Update:
        """Compute the gradients of update `number` over its windows (forward, backward)."""
        self.gradients.values[:] = 0.0
        run_all(self._pack_jobs())
        targets = [[self.targets(window) for window in pair] for pair in windows]
        softmax = self._softmax = self._begin_softmax(
            np.concatenate([t for pair in targets for t in pair]), number
        )
        words = [self.words(pair) for pair in windows]
        if self.encoder.has_words:
            self.encoder.begin_update(
                [self.encode_ids(some)[:, -1].astype(np.int64) for some in words],
                [self.kept_rows(number, place) for place in range(len(windows))],
            )
        losses: list[list[float]] = [[], []]
        for place, (pair, next_words) in enumerate(zip(windows, targets, strict=True)):
            states, found = self._window(pair, next_words, softmax, states, (number, place))
            losses = [[*before, *some] for before, some in zip(losses, found, strict=True)]
        rows = {
            SOFTMAX_WEIGHT: RowGradient(softmax.rows, softmax.dweight),
            SOFTMAX_BIAS: RowGradient(softmax.rows, softmax.dbias),
        }
        if self.encoder.has_words:
            rows[WORD_TABLE] = self.encoder.gradient
        n_tokens = sum(window.targets.size for window, _ in windows)
        forward, backward = (math.fsum(some) / n_tokens for some in losses)
        return Update((forward, backward), rows, states)

    def _window(
        self,
        pair: tuple[Window, Window],
        targets: list[Rows],
        softmax: SoftmaxTraining,
        states: States,
        number: tuple[int, int],
    ) -> tuple[States, list[list[float]]]:
        """Process one window; return the states after it, and each direction's losses of tokens."""
        words, places = np.unique(
            np.stack([window.inputs.ravel() for window in pair]), return_inverse=True
        )
        vectors = self.encoder.forward(self.encode_ids(words), number[1])
        tokens = [*places.reshape(2, -1).astype(np.int32)]
        run_all(list(chain.from_iterable(
            one.forward_jobs(
                vectors, some, (state.h, state.c),
                starts=window.starts if self.config.state == "zero" else None,
                dropouts=self.dropouts(*number, direction),
            )
            for direction, (one, some, state, window) in enumerate(
                zip(self.directions, tokens, states, pair, strict=True)
            )
        )))  # fmt: skip
        found = [
            softmax(one.states, some, self.scale)
            for one, some in zip(self.directions, targets, strict=True)
        ]
        run_all([
            job
            for one, (_, dstates) in zip(self.directions, found, strict=True)
            for job in one.backward_jobs(dstates)
        ])  # fmt: skip
        run_all([
            job for one in self.directions for job in one.weight_jobs(self.gradients.arrays)
        ])  # fmt: skip
        dvectors = np.zeros_like(vectors)
        for one, some in zip(self.directions, tokens, strict=True):
            add_rows(dvectors, some, one.dvectors)
        self.encoder.backward(dvectors, self.gradients.arrays)
        forward, backward = (StreamState(*one.state()) for one in self.directions)
        return (forward, backward), [losses.tolist() for losses, _ in found]

    def _pack_jobs(self) -> list[Callable[[], None]]:
        return [
            *self.encoder.pack_jobs(),
            *(job for one in self.directions for job in one.pack_jobs()),
        ]

    def _begin_softmax(self, targets: Rows, number: int) -> SoftmaxTraining:
        weight, bias = self.arrays[SOFTMAX_WEIGHT], self.arrays[SOFTMAX_BIAS]
        samples, sampler = self.samples(number), self.sampler
        if samples is None or sampler is None:
            return SoftmaxTraining(weight, bias, bfloat16=self.bfloat16, before=self._softmax)
        return SoftmaxTraining(
            weight, bias, samples=samples.words,
            log_expected=lambda words: sampler.log_expected(samples, words),
            targets=self.gather(targets), bfloat16=self.bfloat16, before=self._softmax,
        )  # fmt: skip


def is_sampled(config: TrainingConfig, n_words: int) -> bool:
    """Return whether the softmax is sampled; with "auto", where that halves its work."""
    if config.softmax == "auto":
        return 2 * config.n_samples <= n_words
    return config.softmax == "sampled"
