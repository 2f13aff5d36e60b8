"""The names of bilm-tf's arrays beside ours, and how each is turned into the other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from elmore.bilm_config import BiLMConfig, Shape
from elmore.kernels.library import Array


@dataclass(frozen=True)
class PublishedArray:
    """One array of a published file and the tensors of the biLM that it holds."""

    path: str
    shape: Shape
    names: tuple[str, ...]
    read: Callable[[Array], Sequence[Array]]
    write: Callable[..., Array]


def datasets(config: BiLMConfig) -> list[PublishedArray]:
    """Return every array that a model of this shape has in its published files."""
    return [*_token_encoder(config), *_lstm(config), *_softmax(config)]


def _token_encoder(config: BiLMConfig) -> Iterator[PublishedArray]:
    p = config.lstm.projection_dim
    encoder = config.token_encoder
    if (chars := encoder.chars) is not None:
        d, n_filters = chars.char_dim, chars.n_filters
        cnn = "token_encoder.char_cnn"
        yield PublishedArray(
            "char_embed", (chars.n_characters - 1, d), (f"{cnn}.embedding.weight",),
            lambda x: [np.concatenate([np.zeros_like(x[:1]), x])], lambda x: x[1:],
        )  # fmt: skip
        for i, (width, number) in enumerate(chars.filters):
            ours = f"{cnn}.convolutions.{i}"
            yield PublishedArray(
                f"CNN/W_cnn_{i}", (1, width, d, number), (f"{ours}.weight",),
                lambda x: [x[0].transpose(2, 1, 0)], lambda x: x.transpose(2, 1, 0)[None],
            )  # fmt: skip
            yield _same(f"CNN/b_cnn_{i}", (number,), f"{ours}.bias")
        for k in range(chars.n_highway):
            for theirs, gate in (("carry", "gate"), ("transform", "transform")):
                ours = f"{cnn}.highways.{k}.{gate}"
                yield _turned(f"CNN_high_{k}/W_{theirs}", (n_filters, n_filters), f"{ours}.weight")
                yield _same(f"CNN_high_{k}/b_{theirs}", (n_filters,), f"{ours}.bias")
        if encoder.projected_dim(p) is not None:
            yield _turned("CNN_proj/W_proj", (n_filters, p), "token_encoder.projection.weight")
            yield _same("CNN_proj/b_proj", (p,), "token_encoder.projection.bias")
    if encoder.words is not None:
        yield _same("embedding", (encoder.words.n_words, p), "token_encoder.words.weight")


def _lstm(config: BiLMConfig) -> Iterator[PublishedArray]:
    p, c = config.lstm.projection_dim, config.lstm.cell_dim
    for direction, stack in enumerate(("forward_lstm", "backward_lstm")):
        for layer in range(config.lstm.n_layers):
            theirs = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            ours = f"{stack}.layers.{layer}"
            yield PublishedArray(
                f"{theirs}/W_0", (2 * p, 4 * c),
                (f"{ours}.input_weight", f"{ours}.recurrent_weight"),
                lambda x: np.split(_swap_gates(x).T, 2, axis=1),
                lambda x, h: _swap_gates(np.concatenate([x, h], axis=1).T),
            )  # fmt: skip
            yield PublishedArray(
                f"{theirs}/B", (4 * c,), (f"{ours}.bias",), lambda x: [_swap_gates(x)], _swap_gates
            )
            if config.lstm.has_projection:
                yield _turned(f"{theirs}/W_P_0", (c, p), f"{ours}.projection")


def _softmax(config: BiLMConfig) -> Iterator[PublishedArray]:
    p = config.lstm.projection_dim
    if config.n_softmax_words is not None:
        yield _same("softmax/W", (config.n_softmax_words, p), "softmax.weight")
        yield _same("softmax/b", (config.n_softmax_words,), "softmax.bias")


def _same(path: str, shape: Shape, name: str) -> PublishedArray:
    return PublishedArray(path, shape, (name,), lambda x: [x], lambda x: x)


def _turned(path: str, shape: Shape, name: str) -> PublishedArray:
    """Matrices are stored (in, out)."""
    return PublishedArray(path, shape, (name,), lambda x: [x.T], lambda x: x.T)


def _swap_gates(x: Array) -> Array:
    """Turn gates in the order i, g, f, o into i, f, g, o along the last axis; and back."""
    i, g, f, o = np.split(x, 4, axis=-1)
    return np.concatenate([i, f, g, o], axis=-1)
