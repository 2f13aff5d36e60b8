"""The names of ELMoForManyLangs' tensors beside ours, and how each is turned into ours."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from torch import Tensor

from elmore.bilm_config import BiLMConfig
from elmore.formats.arrays import Shape

WORDS, CHARACTERS = "word_emb_layer.embedding.weight", "char_emb_layer.embedding.weight"


@dataclass(frozen=True)
class PublishedTensor:
    """One tensor of a state dict and the tensors of the biLM that it holds."""

    name: str
    shape: Shape
    ours: tuple[str, ...]
    read: Callable[[Tensor], Sequence[Tensor]] = lambda x: [x]


def token_embedder(config: BiLMConfig) -> Iterator[PublishedTensor]:
    """Yield all tensors of token_embedder.pkl."""
    encoder = config.token_encoder
    words, cnn = encoder.words, encoder.chars
    if words is not None:
        yield PublishedTensor(WORDS, (words.n_words, words.dim), ("token_encoder.words.weight",))
    if cnn is not None:
        ours = "token_encoder.char_cnn"
        yield PublishedTensor(
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
                yield PublishedTensor(
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


def encoder(config: BiLMConfig) -> Iterator[PublishedTensor]:
    """Yield all tensors of encoder.pkl."""
    p, c = config.lstm.projection_dim, config.lstm.cell_dim
    for direction in ("forward", "backward"):
        for layer in range(config.lstm.n_layers):
            theirs = f"{direction}_layer_{layer}"
            ours = f"{direction}_lstm.layers.{layer}"
            yield _same(f"{theirs}.input_linearity.weight", (4 * c, p), f"{ours}.input_weight")
            yield _same(f"{theirs}.state_linearity.weight", (4 * c, p), f"{ours}.recurrent_weight")
            yield _same(f"{theirs}.state_linearity.bias", (4 * c,), f"{ours}.bias")
            yield _same(f"{theirs}.state_projection.weight", (p, c), f"{ours}.projection")


def _same(name: str, shape: Shape, ours: str) -> PublishedTensor:
    return PublishedTensor(name, shape, (ours,))


def _shifted(characters: Tensor) -> list[Tensor]:
    """Row 0 is of padding tokens."""
    table = characters.new_zeros(len(characters) + 1, characters.shape[1])
    table[1:] = characters
    return [table]


def _highway(both: Tensor) -> list[Tensor]:
    """Its gate carries x, and ours the transformation: 1 - sigmoid(z) = sigmoid(-z)."""
    transform, gate = both.chunk(2)
    return [transform, -gate]
