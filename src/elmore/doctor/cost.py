"""A recipe and the size of a vocabulary in, the memory and the disk that training takes out.

What is kept from update to update is asked of the very classes that training uses, on torch's
device "meta", which knows shapes and has no memory. What an update makes and drops is reckoned from
the shapes that lstm_grad.py, char_cnn_grad.py and softmax_loss.py state.

Shapes: N tokens of a window, W distinct words in it, V rows of the softmax, U of them touched, F
filters, p projection_dim, c cell_dim. Numbers have 4 bytes.
"""

import os
from dataclasses import dataclass

import torch
from torch import Tensor

from elmore.engine.parameters import Parameters, row_weights
from elmore.model import BiLM
from elmore.pretrain.config import Recipe
from elmore.pretrain.optimizers import Optimizer
from elmore.pretrain.step import TrainingStep

_PROGRAM = 300 * 2**20  # Python, torch and the libraries, as measured
_VOCAB_WORD = 250  # a row's word in Python, twice, beside its characters
_STREAM_BLOCK = 2**15  # words that each stream holds of the text, in each direction
_LOGITS = 2 * 2**22  # in each thread
_EVALUATED_TOKENS = 4096  # at once


@dataclass(frozen=True)
class Memory:
    """Bytes of memory that a training process has at its fullest."""

    program: int
    """Python and its libraries."""
    weights: int
    """The network and its softmax."""
    optimizer: int
    """The gradients, and what the optimizer remembers."""
    activations: int
    """What a window leaves for the way back."""
    text: int
    """The vocabulary, and the blocks of text that the streams are reading."""

    @property
    def total(self) -> int:
        """All together."""
        return self.program + self.weights + self.optimizer + self.activations + self.text


@dataclass(frozen=True)
class Disk:
    """Bytes that a run's folder takes."""

    corpus: int
    """The numbered text."""
    checkpoints: int
    """The last, the best, and a new one beside the last while it is written."""
    model: int
    """What comes of it."""
    temporary: int
    """The tokenized text, while it is prepared."""

    @property
    def total(self) -> int:
        """At its fullest: the tokenized text is gone when checkpoints come."""
        return self.corpus + max(self.temporary, self.checkpoints + self.model)


@dataclass(frozen=True)
class Kept:
    """Bytes that are kept from update to update."""

    n_parameters: int
    """Weights, with the softmax."""
    weights: int
    gradients: int
    remembered: int
    """By the optimizer."""
    buffers: int
    """Of the recurrent layers."""
    states: int
    """Of all streams."""
    is_sampled: bool
    """Whether the softmax scores a sample of the words."""

    @classmethod
    def by(cls, recipe: Recipe, n_rows: int) -> "Kept":
        """Build what training builds, without its memory."""
        training, lstm = recipe.training, recipe.lstm
        with torch.device("meta"):
            bilm = BiLM(recipe.bilm_config(n_rows))
        assert bilm.softmax is not None
        n_parameters = sum(p.numel() for p in bilm.parameters())
        parameters = Parameters(bilm, training.frozen)
        step = TrainingStep(bilm, parameters, training, lambda ids: ids.astype("int16"), unknown=0)
        learning = {"weights": parameters.values, **row_weights(bilm, training.frozen)}
        remembered = [tensor for _, tensor in Optimizer(learning, training).state()]
        layers = [layer for stack in step.stacks for layer in stack.layers]
        return cls(
            n_parameters=n_parameters,
            weights=4 * n_parameters,
            gradients=step.gradients.values.nbytes,
            remembered=sum(tensor.nbytes for tensor in remembered),
            buffers=sum(
                value.nbytes
                for layer in layers
                for value in vars(layer).values()
                if isinstance(value, Tensor)
            ),
            states=8 * lstm.n_layers * training.batch_size * (lstm.cell_dim + lstm.projection_dim),
            is_sampled=step.sampler is not None,
        )


def memory(recipe: Recipe, kept: Kept, n_rows: int, n_window_words: int, n_tokens: int) -> Memory:
    """Reckon memory for a window of so many distinct words, of a text of so many tokens."""
    training, encoder = recipe.training, recipe.token_encoder
    V, W, p = n_rows, n_window_words, recipe.lstm.projection_dim
    # one direction's gradient, and the other's; of a sample also weights and the optimizer's copies
    U = min(V, training.n_samples + W) if kept.is_sampled else V
    touched = 4 * U * p * (6 if kept.is_sampled else 2)
    forward, backward = _spelling(recipe, W)
    passing = max(backward + _reading(recipe), _evaluating(recipe, V))
    blocks = 2 * training.batch_size * 8 * min(_STREAM_BLOCK, n_tokens)
    return Memory(
        program=_PROGRAM,
        weights=kept.weights,
        optimizer=kept.gradients + touched + kept.remembered,
        activations=kept.buffers + 2 * kept.states + forward + passing,
        text=blocks + V * (_VOCAB_WORD + 2 * encoder.max_characters),
    )


def disk(kept: Kept, n_shard_bytes: int, n_tokenized_bytes: int) -> Disk:
    """Reckon disk for a text of so many bytes."""
    last = kept.weights + kept.remembered + kept.states
    return Disk(
        corpus=n_shard_bytes,
        checkpoints=2 * last + kept.weights,
        model=kept.weights,
        temporary=n_tokenized_bytes,
    )


def machine_memory() -> int | None:
    """Return how much memory this machine has, where it says so."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _spelling(recipe: Recipe, n_window_words: int) -> tuple[int, int]:
    """Return what spelling keeps for the way back, and what that takes."""
    encoder, p, W = recipe.token_encoder, recipe.lstm.projection_dim, n_window_words
    F, widest = encoder.n_filters, max(number for _, number in encoder.filters)
    layers = 4 * W * F * (3 * encoder.n_highway + 1)
    places = 8 * W * (F + 2 * encoder.max_characters)
    tables = 4 * encoder.n_characters * sum(width * number for width, number in encoder.filters)
    on_the_way_back = 4 * W * F * 5 + 2 * W * widest * (3 * 8 + 4) + 4 * W * p * 4
    return layers + places + tables, on_the_way_back + tables


def _reading(recipe: Recipe) -> int:
    """Return what both directions make beside their buffers: masks, layers' inputs, weights."""
    training, lstm = recipe.training, recipe.lstm
    N, p, c = training.batch_size * training.unroll_steps, lstm.projection_dim, lstm.cell_dim
    vectors = 4 * N * p * (3 * lstm.n_layers + 7)
    turned = 4 * 9 * p * c
    return 2 * (vectors + turned + _LOGITS)


def _evaluating(recipe: Recipe, n_rows: int) -> int:
    """Return what a measurement on the held-out text takes."""
    lstm = recipe.lstm
    p, c, L, N = lstm.projection_dim, lstm.cell_dim, lstm.n_layers, _EVALUATED_TOKENS
    weights = 2 * L * 9 * p * c
    gates = 2 * 4 * c * (min(N // 2, n_rows) + 1024)
    return 4 * (weights + gates + 2 * N * p * (L + 3)) + 4 * 2**22 * 2
