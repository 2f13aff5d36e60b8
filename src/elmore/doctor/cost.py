"""A recipe and the size of a vocabulary in, the memory and the disk that training takes out.

All is computed from the shapes that the modules of engine/training state.

Shapes: N tokens of a window, W distinct words in it, V rows of the softmax, U of them touched, F
filters, p projection_dim, c cell_dim. Values have 4 bytes.
"""

import math
from dataclasses import dataclass

from elmore.bilm_config import array_shapes
from elmore.engine import softmax
from elmore.engine.parameters import places_of, row_weights
from elmore.engine.reader import MAX_BATCH_TOKENS
from elmore.engine.training.lstm import window_bytes
from elmore.engine.training.optimizers import STATES
from elmore.engine.training.softmax import max_tokens
from elmore.pretrain.batches import BLOCK_WORDS
from elmore.pretrain.config import Recipe
from elmore.pretrain.step import is_sampled

_PROGRAM = 300 * 2**20  # Python, torch and the libraries, as measured
_VOCAB_WORD = 250  # the Python objects of a word, in two vocabularies, without its character ids


@dataclass(frozen=True)
class Memory:
    """The peak memory of a training process in bytes."""

    program: int
    """Python and its libraries."""
    weights: int
    """The network and its softmax."""
    optimizer: int
    """The gradients and the state of the optimizer."""
    activations: int
    """What a window needs for its backward pass."""
    text: int
    """The vocabulary, and the blocks of text that the streams hold."""

    @property
    def total(self) -> int:
        """The sum."""
        return self.program + self.weights + self.optimizer + self.activations + self.text


@dataclass(frozen=True)
class Disk:
    """The size of a run's folder in bytes."""

    corpus: int
    """The shards of word ids."""
    checkpoints: int
    """The last, the best, and a new one while it replaces the last."""
    model: int
    """The model folder."""
    temporary: int
    """The tokenized text, while it is prepared."""

    @property
    def total(self) -> int:
        """The peak: the tokenized text is removed before the first checkpoint."""
        return self.corpus + max(self.temporary, self.checkpoints + self.model)


@dataclass(frozen=True)
class TrainingState:
    """Bytes that persist between updates."""

    n_parameters: int
    """Weights, with the softmax."""
    weights: int
    gradients: int
    optimizer: int
    """The state of the optimizer."""
    buffers: int
    """Of the LSTM layers."""
    states: int
    """Of all streams."""
    is_sampled: bool
    """Whether the softmax scores a sample of the words."""

    @classmethod
    def of(cls, recipe: Recipe, n_rows: int) -> "TrainingState":
        """Build the objects of training, without their memory."""
        training, lstm = recipe.training, recipe.lstm
        shapes = array_shapes(recipe.bilm_config(n_rows))
        n_parameters = sum(map(math.prod, shapes.values()))
        _, n_dense = places_of(shapes, training.frozen)
        n_rows_trained = sum(map(math.prod, row_weights(shapes, training.frozen).values()))
        window = (training.unroll_steps, training.batch_size)
        n_bytes = 4 if training.precision == "float32" else 2
        return cls(
            n_parameters=n_parameters,
            weights=4 * n_parameters,
            gradients=4 * n_dense,
            optimizer=4 * len(STATES[training.optimizer]) * (n_dense + n_rows_trained),
            buffers=2 * window_bytes(lstm, window, n_bytes),
            states=8 * lstm.n_layers * training.batch_size * (lstm.cell_dim + lstm.projection_dim),
            is_sampled=is_sampled(training, n_rows),
        )


def memory(
    recipe: Recipe, state: TrainingState, n_rows: int, n_window_words: int, n_tokens: int
) -> Memory:
    """Compute the memory for a window of so many distinct words, of a text of so many tokens."""
    training, encoder = recipe.training, recipe.token_encoder
    V, W, p = n_rows, n_window_words, recipe.lstm.projection_dim
    # the gradients of rows; the scored rows packed twice, and the logits of some tokens
    U = min(V, training.n_samples + W) if state.is_sampled else V
    S = training.n_samples if state.is_sampled else V
    N = min(max_tokens(S), training.batch_size * training.unroll_steps)
    touched = 4 * (U * p + 2 * S * p + N * S)
    forward, backward = _char_cnn(recipe, W)
    transient = max(backward + _lstm(recipe), _evaluation(recipe, V))
    blocks = 2 * training.batch_size * 8 * min(BLOCK_WORDS, n_tokens)
    return Memory(
        program=_PROGRAM,
        weights=state.weights,
        optimizer=state.gradients + touched + state.optimizer,
        activations=state.buffers + 2 * state.states + forward + transient,
        text=blocks + V * (_VOCAB_WORD + 2 * encoder.max_characters),
    )


def disk(state: TrainingState, n_shard_bytes: int, n_tokenized_bytes: int) -> Disk:
    """Compute the disk space for a text of so many bytes."""
    last = state.weights + state.optimizer + state.states
    return Disk(
        corpus=n_shard_bytes,
        checkpoints=2 * last + state.weights,
        model=state.weights,
        temporary=n_tokenized_bytes,
    )


def _char_cnn(recipe: Recipe, n_window_words: int) -> tuple[int, int]:
    """Return the memory of the char CNN's activations, and of its backward pass."""
    encoder, p, W = recipe.token_encoder, recipe.lstm.projection_dim, n_window_words
    F = encoder.n_filters
    layers = 4 * W * F * (3 * encoder.n_highway + 2)
    ids = 8 * W * encoder.max_characters
    tables = 4 * encoder.n_characters * sum(width * number for width, number in encoder.filters)
    return layers + ids + 2 * tables, 4 * W * (F * 4 + p * 4)


def _lstm(recipe: Recipe) -> int:
    """Return the memory of both directions beside their buffers: what the softmax gives back."""
    training, lstm = recipe.training, recipe.lstm
    return 2 * 4 * training.batch_size * training.unroll_steps * (lstm.projection_dim + 2)


def _evaluation(recipe: Recipe, n_rows: int) -> int:
    """Return the memory of a measurement on the held-out text."""
    lstm = recipe.lstm
    p, c, L, N = lstm.projection_dim, lstm.cell_dim, lstm.n_layers, MAX_BATCH_TOKENS
    weights = 2 * L * 9 * p * c + n_rows * p
    gates = 2 * 4 * c * min(N, n_rows)
    return 4 * (weights + gates + 2 * N * p * (L + 3)) + 2 * 4 * softmax.MAX_LOGITS
