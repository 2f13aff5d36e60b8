"""Windows of text in, losses and gradients out: the forward and backward pass of one update.

The distinct words of both directions are encoded once: from their characters and, with a word
table, by their rows of it. Then each direction, in a thread of its own, reads its window, predicts
the next words and backpropagates through time; at the end the words' gradients go through the token
encoder.

Every random number is a function of the seed and the update's number, so a resumed run draws the
same numbers. Shapes: T steps, B streams, N = T B tokens, W distinct words, p
projection_dim.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmore.engine.lstm_grad import LstmStackGrad
from elmore.engine.matmul import products
from elmore.engine.negative_sampling import LogUniformSampler
from elmore.engine.parameters import Gradients, Parameters
from elmore.engine.softmax_loss import Candidates, SoftmaxLoss
from elmore.engine.threads import TwoThreads
from elmore.engine.token_encoder_grad import TokenEncoderGrad
from elmore.engine.word_table_grad import RowGradient
from elmore.model.bilm import BiLM, BiLMState
from elmore.model.lstm import LstmState
from elmore.pretrain.config import TrainingConfig

Ids = npt.NDArray[np.int64]

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
class Update:
    """Losses and gradients of an update, before it is applied."""

    losses: tuple[float, float]
    """The mean negative log-likelihood of a token, forward and backward."""
    rows: Mapping[str, RowGradient]
    """The sparse gradients: of the softmax and the word table."""
    state: BiLMState
    """The LSTM states after the last window."""


class TrainingStep:
    """Computes the gradients of a biLM; `encode_ids` turns word ids into token ids."""

    def __init__(
        self,
        bilm: BiLM,
        parameters: Parameters,
        config: TrainingConfig,
        encode_ids: Callable[[Ids], npt.NDArray[np.integer]],
        *,
        unknown: int,
        streams: slice | None = None,
        gather: Callable[[Tensor], Tensor] = lambda words: words,
    ) -> None:
        """Take the row of `<UNK>`, this process's streams, and what gathers tensors of all."""
        assert bilm.softmax is not None
        self.softmax, self.config, self.gather = bilm.softmax, config, gather
        self.encode_ids = encode_ids
        self.unknown = unknown
        self.device = bilm.softmax.bias.device
        self.streams = streams or slice(0, config.batch_size)
        n_streams = self.streams.stop - self.streams.start
        self.projection_dim = bilm.config.lstm.projection_dim
        self.gradients = Gradients(parameters)
        self.products = products(config.precision, self.device)
        self.threads = TwoThreads(use=self.device.type == "cpu")
        self.encoder = TokenEncoderGrad(
            bilm.token_encoder, config.word_dropout, self.products, self.threads
        )
        # One thread each: the two directions' gradients are of different weights.
        self.stacks = [
            LstmStackGrad(
                stack,
                self.products,
                (config.unroll_steps, n_streams),
                zero_starts=config.state == "zero",
            )
            for stack in (bilm.forward_lstm, bilm.backward_lstm)
        ]
        n_words = len(bilm.softmax.bias)
        self.sampler = (
            LogUniformSampler(n_words, config.n_samples) if is_sampled(config, n_words) else None
        )

    def __call__(
        self, windows: Sequence[tuple[Window, Window]], state: BiLMState, number: int
    ) -> Update:
        """Compute the gradients of update `number` over its windows (forward, backward)."""
        self.gradients.values.zero_()
        targets = [[self._rows(window.targets).flatten() for window in pair] for pair in windows]
        candidates = self._candidates(torch.cat([t for pair in targets for t in pair]), number)
        predictions = [SoftmaxLoss(candidates, self.products) for _ in range(2)]
        if self.encoder.words is not None:
            self.encoder.words.begin_update(
                [self._inputs(pair) for pair in windows],
                lambda place: _generator(self.config.seed, number, place, _WORD_DROPOUT),
            )
        losses = torch.zeros(2, dtype=torch.float64)
        for place, pair in enumerate(windows):
            state, found = self._window(pair, targets[place], predictions, state, (number, place))
            losses += found
        softmax = predictions[0].gradients
        softmax.weight += predictions[1].gradients.weight
        softmax.bias += predictions[1].gradients.bias
        rows = {
            SOFTMAX_WEIGHT: RowGradient(candidates.rows, softmax.weight),
            SOFTMAX_BIAS: RowGradient(candidates.rows, softmax.bias),
        }
        if self.encoder.words is not None:
            rows[WORD_TABLE] = self.encoder.words.gradient
        n_tokens = sum(window.targets.size for window, _ in windows)
        forward, backward = (losses / n_tokens).tolist()
        return Update((forward, backward), rows, state)

    def _window(
        self,
        pair: tuple[Window, Window],
        targets: list[Tensor],
        predictions: list[SoftmaxLoss],
        state: BiLMState,
        number: tuple[int, int],
    ) -> tuple[BiLMState, Tensor]:
        """Process one window; return the state after it and the summed loss of each direction."""
        words, tokens = np.unique(
            np.concatenate([window.inputs.ravel() for window in pair]), return_inverse=True
        )
        token_ids = torch.from_numpy(self.encode_ids(words)).to(self.device, torch.int64)
        places = torch.from_numpy(tokens).to(self.device).view(2, -1)
        vectors = self.encoder.forward(token_ids, number[1])
        dvectors = vectors.new_zeros(2, *vectors.shape)
        # The gradient of the mean over a stream's tokens, times the steps: as published.
        scale = 0.5 / (self.config.batch_size * self.config.accumulate)
        before = (state.forward, state.backward)
        after: list[LstmState] = [*before]
        losses = torch.zeros(2, dtype=torch.float64)

        def read(direction: int) -> None:
            stack, prediction = self.stacks[direction], predictions[direction]
            tokens = places[direction]
            masks = self._masks(*number, direction)
            starts = self._starts(pair[direction])
            states = stack.forward(vectors[tokens], masks, before[direction], starts)
            looked_for = prediction.candidates.places_of(targets[direction], len(self.softmax.bias))
            found, dstates = prediction(states, looked_for, scale)
            losses[direction] = found.double().sum().cpu()
            after[direction] = stack.state()
            dvectors[direction].index_add_(0, tokens, stack.backward(dstates, self.gradients))

        self.threads.both(read)
        self.encoder.backward(
            dvectors.sum(dim=0),
            self.gradients,
            frozen_characters="token_encoder" in self.config.frozen,
        )
        return BiLMState(*after), losses

    def _candidates(self, targets: Tensor, number: int) -> Candidates:
        if self.sampler is None:
            return Candidates.all_words(self.softmax)
        samples = self.sampler.draw(_generator(self.config.seed, number))
        return Candidates.of(self.softmax, samples, self.gather(targets))

    def _inputs(self, pair: tuple[Window, Window]) -> Tensor:
        """Return the input words of a window, of all processes."""
        inputs = torch.from_numpy(np.concatenate([window.inputs.ravel() for window in pair]))
        if not self.encoder.encoder.adds:  # where words outside have the row of <UNK>
            inputs = inputs.masked_fill(inputs >= len(self.softmax.bias), self.unknown)
        return self.gather(inputs.to(self.device))

    def _rows(self, words: Ids) -> Tensor:
        rows = torch.from_numpy(words).to(self.device)
        return rows.masked_fill(rows >= len(self.softmax.bias), self.unknown)

    def _starts(self, window: Window) -> list[Tensor]:
        """Return the streams that start from the zero state at each step."""
        if self.config.state == "carried":
            return []
        return [torch.from_numpy(np.flatnonzero(row)).to(self.device) for row in window.starts]

    def _masks(self, number: int, place: int, direction: int) -> list[Tensor]:
        """Draw dropout masks for the streams of all processes; return those of this one."""
        rate, n_steps = self.config.dropout, self.config.unroll_steps
        if rate == 0:
            return []
        generator = _generator(self.config.seed, number, place, direction)
        shape = (n_steps, self.config.batch_size, self.projection_dim)
        return [
            torch.rand(shape, generator=generator)
            .ge_(rate)
            .div_(1 - rate)[:, self.streams]
            .reshape(-1, self.projection_dim)
            .to(self.device)
            for _ in range(len(self.stacks[direction].layers) + 1)
        ]


def is_sampled(config: TrainingConfig, n_words: int) -> bool:
    """Return whether the softmax is sampled; with "auto", where that halves its work."""
    if config.softmax == "auto":
        return 2 * config.n_samples <= n_words
    return config.softmax == "sampled"


def _generator(*numbers: int) -> torch.Generator:
    """Return a generator that is seeded by these numbers."""
    seed = np.random.SeedSequence(numbers).generate_state(1, np.uint64)
    return torch.Generator().manual_seed(int(seed[0]))
