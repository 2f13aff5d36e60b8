"""A recipe and the size of a vocabulary in, the memory and the disk that training takes out.

The memory that persists between updates is read off the classes of training themselves, built on
torch's device "meta", which has shapes but no memory. That of an update is computed from the shapes
that lstm_grad.py, char_cnn_grad.py and softmax_loss.py state.

Shapes: N tokens of a window, W distinct words in it, V rows of the softmax, U of them touched, F
filters, p projection_dim, c cell_dim. Values have 4 bytes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from elmore.engine import fast, softmax_loss, word_scorer
from elmore.engine.parameters import Parameters, row_weights
from elmore.model.bilm import BiLM
from elmore.pretrain.batches import BLOCK_WORDS
from elmore.pretrain.config import Recipe
from elmore.pretrain.optimizers import Optimizer
from elmore.pretrain.perplexity import MAX_BATCH_TOKENS
from elmore.pretrain.step import TrainingStep

_PROGRAM = 300 * 2**20  # Python, torch and the libraries, as measured
_VOCAB_WORD = 250  # the Python objects of a word, in two vocabularies, without its character ids
_TRAINING_LOGITS = 2 * 4 * softmax_loss.MAX_LOGITS  # in each thread


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
        with torch.device("meta"):
            bilm = BiLM(recipe.bilm_config(n_rows))
        assert bilm.softmax is not None
        n_parameters = sum(p.numel() for p in bilm.parameters())
        parameters = Parameters(bilm, training.frozen)
        step = TrainingStep(bilm, parameters, training, lambda ids: ids.astype("int16"), unknown=0)
        trainable = {"weights": parameters.values, **row_weights(bilm, training.frozen)}
        optimizer = [tensor for _, tensor in Optimizer(trainable, training).state()]
        layers = [layer for stack in step.stacks for layer in stack.layers]
        return cls(
            n_parameters=n_parameters,
            weights=4 * n_parameters,
            gradients=step.gradients.values.nbytes,
            optimizer=sum(tensor.nbytes for tensor in optimizer),
            buffers=sum(
                value.nbytes
                for layer in layers
                for value in vars(layer).values()
                if isinstance(value, Tensor)
            ),
            states=8 * lstm.n_layers * training.batch_size * (lstm.cell_dim + lstm.projection_dim),
            is_sampled=step.sampler is not None,
        )


def memory(
    recipe: Recipe, state: TrainingState, n_rows: int, n_window_words: int, n_tokens: int
) -> Memory:
    """Compute the memory for a window of so many distinct words, of a text of so many tokens."""
    training, encoder = recipe.training, recipe.token_encoder
    V, W, p = n_rows, n_window_words, recipe.lstm.projection_dim
    # the gradients of both directions; of a sample also copies of weights and optimizer state
    U = min(V, training.n_samples + W) if state.is_sampled else V
    touched = 4 * U * p * (6 if state.is_sampled else 2)
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
    F, widest = encoder.n_filters, max(number for _, number in encoder.filters)
    layers = 4 * W * F * (3 * encoder.n_highway + 1)
    places = 8 * W * (F + 2 * encoder.max_characters)
    tables = 4 * encoder.n_characters * sum(width * number for width, number in encoder.filters)
    backward = 4 * W * F * 5 + 2 * W * widest * (3 * 8 + 4) + 4 * W * p * 4
    return layers + places + tables, backward + tables


def _lstm(recipe: Recipe) -> int:
    """Return the memory of both directions beside their buffers: masks, inputs, weights."""
    training, lstm = recipe.training, recipe.lstm
    N, p, c = training.batch_size * training.unroll_steps, lstm.projection_dim, lstm.cell_dim
    vectors = 4 * N * p * (3 * lstm.n_layers + 7)
    transposed = 4 * 9 * p * c
    return 2 * (vectors + transposed + _TRAINING_LOGITS)


def _evaluation(recipe: Recipe, n_rows: int) -> int:
    """Return the memory of a measurement on the held-out text."""
    lstm = recipe.lstm
    p, c, L, N = lstm.projection_dim, lstm.cell_dim, lstm.n_layers, MAX_BATCH_TOKENS
    weights = 2 * L * 9 * p * c
    gates = 2 * 4 * c * (min(N // 2, n_rows) + fast.MAX_GATE_ROWS)
    return 4 * (weights + gates + 2 * N * p * (L + 3)) + 2 * 4 * word_scorer.MAX_LOGITS
