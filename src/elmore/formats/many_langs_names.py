"""The names of ELMoForManyLangs' arrays beside ours, and how each is turned into ours."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from elmore.bilm_config import BiLMConfig, Shape
from elmore.kernels.library import Array

WORDS, CHARACTERS = "word_emb_layer.embedding.weight", "char_emb_layer.embedding.weight"


@dataclass(frozen=True)
class PublishedArray:
    """One array of a state dict and the arrays of the biLM that it holds."""

    name: str
    shape: Shape
    ours: tuple[str, ...]
    read: Callable[[Array], Sequence[Array]] = lambda x: [x]


def token_embedder(config: BiLMConfig) -> Iterator[PublishedArray]:
    """Yield all arrays of token_embedder.pkl."""
    encoder = config.token_encoder
    words, cnn = encoder.words, encoder.chars
    if words is not None:
        yield PublishedArray(WORDS, (words.n_words, words.dim), ("token_encoder.words.weight",))
    if cnn is not None:
        ours = "token_encoder.char_cnn"
        yield PublishedArray(
            CHARACTERS,
            (cnn.n_characters - 1, cnn.char_dim),
            (f"{ours}.embedding.weight",),
            _shifted,
        )
        for i, (width, number) in enumerate(cnn.filters):
            name = f"convolutions.{i}"
            yield _same(f"{name}.weight", (number, cnn.char_dim, width), f"{ours}.{name}.weight")
            yield _same(f"{name}.bias", (number,), f"{ours}.{name}.bias")
        for k in range(cnn.n_highway):
            for kind, shape in (("weight", (cnn.n_filters,)), ("bias", ())):
                yield PublishedArray(
                    f"highways._layers.{k}.{kind}",
                    (2 * cnn.n_filters, *shape),
                    (f"{ours}.highways.{k}.transform.{kind}", f"{ours}.highways.{k}.gate.{kind}"),
                    _highway,
                )
    p = config.lstm.projection_dim
    n_projected = encoder.projected_dim(p)
    assert n_projected is not None  # as concatenated vectors are
    yield _same("projection.weight", (p, n_projected), "token_encoder.projection.weight")
    yield _same("projection.bias", (p,), "token_encoder.projection.bias")


def encoder(config: BiLMConfig) -> Iterator[PublishedArray]:
    """Yield all arrays of encoder.pkl."""
    p, c = config.lstm.projection_dim, config.lstm.cell_dim
    for direction in ("forward", "backward"):
        for layer in range(config.lstm.n_layers):
            theirs = f"{direction}_layer_{layer}"
            ours = f"{direction}_lstm.layers.{layer}"
            yield _same(f"{theirs}.input_linearity.weight", (4 * c, p), f"{ours}.input_weight")
            yield _same(f"{theirs}.state_linearity.weight", (4 * c, p), f"{ours}.recurrent_weight")
            yield _same(f"{theirs}.state_linearity.bias", (4 * c,), f"{ours}.bias")
            yield _same(f"{theirs}.state_projection.weight", (p, c), f"{ours}.projection")


def _same(name: str, shape: Shape, ours: str) -> PublishedArray:
    return PublishedArray(name, shape, (ours,))


def _shifted(characters: Array) -> list[Array]:
    """Row 0 is of padding tokens."""
    return [np.concatenate([np.zeros_like(characters[:1]), characters])]


def _highway(both: Array) -> list[Array]:
    """Its gate carries x, and ours the transformation: 1 - sigmoid(z) = sigmoid(-z)."""
    transform, gate = np.split(both, 2)
    return [transform, -gate]
