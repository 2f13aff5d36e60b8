"""The shape of a biLM, checked when it is made, and the arrays that one has.

Needs no torch, and no NumPy.
"""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from elmore.checks import at_least, one_of
from elmore.errors import ConfigError

Shape = tuple[int, ...]

Activation = Literal["relu", "tanh"]
CharEncoding = Literal["bytes", "jamo", "bilm-tf", "alphabet"]
Combine = Literal["add", "concat"]
Precision = Literal["float32", "bfloat16"]
DType = Literal["float32", "float16"]
"""What vectors and weights are stored in."""
Norm = Literal["none", "token", "bilm-tf", "allennlp"]
"""How layers are normalized before they are mixed; see `ScalarMix`."""
Part = Literal["token_encoder", "word_table", "lstm", "softmax"]

# Beyond these a file is damaged. Words are padded to max_characters, so that it costs memory.
_MOST_LAYERS, _MOST_CHARACTERS, _LARGEST = 100, 1024, 2**24
_LARGEST_CLIP = 3.4028234e38  # in float32


@dataclass(frozen=True)
class CharCnnConfig:
    """Words encoded from characters: embedding, convolutions, highways."""

    char_dim: int
    """Dimensions of a character's vector."""
    filters: tuple[tuple[int, int], ...]
    """The convolutions, each as (width in characters, number of filters)."""
    n_highway: int
    """Highway layers above the convolutions."""
    activation: Activation
    """What follows the max-pooling: "relu" or "tanh"."""
    max_characters: int = 50
    """Characters in a row, the two word marks included."""
    char_encoding: CharEncoding = "bytes"
    """What a character is: a byte of UTF-8 (bytes), the same with Hangul syllables as their letters
    (jamo), or bytes with long words truncated at any byte, as published (bilm-tf); models of
    ELMoForManyLangs have an alphabet of code points (alphabet)."""
    alphabet_size: int | None = None
    """Characters of the alphabet, its marks included; None for a model without one."""

    def __post_init__(self) -> None:
        at_least(1, largest=_LARGEST, char_dim=self.char_dim)
        at_least(0, largest=_MOST_LAYERS, n_highway=self.n_highway)
        pairs = self.filters if isinstance(self.filters, tuple) else ()
        if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
            raise ConfigError(f"filters is {self.filters}; expected pairs of [width, number]")
        at_least(1, largest=_MOST_LAYERS, **{"the number of widths in filters": len(pairs)})
        for width, number in self.filters:
            at_least(1, largest=_MOST_CHARACTERS, **{"a filter's width": width})
            at_least(1, largest=_LARGEST, **{"a filter's number": number})
        widest = max(3, *(width for width, _ in self.filters))
        at_least(widest, largest=_MOST_CHARACTERS, max_characters=self.max_characters)
        one_of(Activation, activation=self.activation)
        one_of(CharEncoding, char_encoding=self.char_encoding)
        if (self.char_encoding == "alphabet") != (self.alphabet_size is not None):
            raise ConfigError(
                f"char_encoding is {self.char_encoding!r}, and alphabet_size is "
                f"{self.alphabet_size}; an alphabet has a size, and the other encodings have none"
            )
        if self.alphabet_size is not None:
            at_least(1, largest=_LARGEST, alphabet_size=self.alphabet_size)

    @property
    def n_characters(self) -> int:
        """Rows of the character table; row 0 belongs to padding tokens."""
        if self.alphabet_size is not None:
            return self.alphabet_size + 1
        return 330 if self.char_encoding == "jamo" else 262

    @property
    def n_filters(self) -> int:
        """Dimensions of a word's vector before any projection."""
        return sum(number for _, number in self.filters)


@dataclass(frozen=True)
class WordTableConfig:
    """Words looked up in a table."""

    n_words: int
    """Rows of the table: the words of the vocabulary."""
    dim: int
    """Dimensions of a word's vector."""
    max_length: int | None = None
    """Characters of a word that it is looked up by, longer words being cut (ELMoForManyLangs); None
    for whole words."""

    def __post_init__(self) -> None:
        at_least(1, largest=_LARGEST, n_words=self.n_words, dim=self.dim)
        if self.max_length is not None:
            at_least(1, largest=_MOST_CHARACTERS, max_length=self.max_length)


@dataclass(frozen=True)
class TokenEncoderConfig:
    """How a token becomes a vector: by its characters, by its row of a table, or by both.

    The ids of a token are one row for every model: the ids of its characters, if there are any, and
    last its row of the table plus 1, if there is one. 0 is padding; as the id of a word it is also
    a word outside the table, which has its characters alone.
    """

    chars: CharCnnConfig | None = None
    """The encoder of characters; None for a model of words only."""
    words: WordTableConfig | None = None
    """The table of words; None for a model of characters only."""
    combine: Combine = "add"
    """add: the vector of the characters, projected where it has another width than a token's
    vector, plus the word's row, which has that width. concat: the word's row and then the vector of
    the characters, always projected (ELMoForManyLangs)."""

    def __post_init__(self) -> None:
        one_of(Combine, combine=self.combine)
        if self.chars is None and self.words is None:
            raise ConfigError("the token encoder has neither chars nor words; it needs one of them")

    @property
    def n_ids(self) -> int:
        """The ids of a token."""
        n_chars = 0 if self.chars is None else self.chars.max_characters
        return n_chars + (self.words is not None)

    def projected_dim(self, projection_dim: int) -> int | None:
        """Return the dimensions that are projected to a token's vector; None without projection."""
        n_filters = 0 if self.chars is None else self.chars.n_filters
        if self.combine == "concat":
            return n_filters + (0 if self.words is None else self.words.dim)
        return None if n_filters in (0, projection_dim) else n_filters


@dataclass(frozen=True)
class LstmConfig:
    """The LSTM stack of each direction."""

    n_layers: int
    """Layers in each direction."""
    cell_dim: int
    """Dimensions of the cell state c."""
    projection_dim: int
    """Dimensions of the output h, and of a token's vector. Equal to cell_dim: no projection,
    unless always_project says so."""
    cell_clip: float | int | None = 3.0
    """Largest magnitude in c; none for no limit."""
    projection_clip: float | int | None = 3.0
    """Largest magnitude in a projected h; none for no limit."""
    skip_connections: bool = True
    """Whether the output of each layer but the first adds its input."""
    forget_bias: float | int = 1.0
    """Added to the forget gate's bias: 1, or 0 where the bias includes it (ELMoForManyLangs)."""
    always_project: bool = False
    """Whether the output is projected also where projection_dim equals cell_dim
    (ELMoForManyLangs)."""

    def __post_init__(self) -> None:
        at_least(1, largest=_MOST_LAYERS, n_layers=self.n_layers)
        at_least(1, largest=_LARGEST, cell_dim=self.cell_dim, projection_dim=self.projection_dim)
        if self.projection_dim > self.cell_dim:
            raise ConfigError(
                f"projection_dim is {self.projection_dim}, cell_dim {self.cell_dim}; "
                "a projection cannot be wider than its cell"
            )
        for name in ("cell_clip", "projection_clip"):
            clip = getattr(self, name)
            if clip is None:
                continue
            if not (type(clip) in (int, float) and 0 < clip <= _LARGEST_CLIP):
                raise ConfigError(
                    f"{name} is {clip!r}; expected a number above 0 that float32 can hold, or none"
                )
            object.__setattr__(self, name, float(clip))  # so that 3 is written as 3.0 is
        if type(self.forget_bias) not in (int, float) or not -9 <= self.forget_bias <= 9:
            raise ConfigError(
                f"forget_bias is {self.forget_bias!r}; expected a number from -9 to 9, such as 1"
            )
        object.__setattr__(self, "forget_bias", float(self.forget_bias))
        for name in ("skip_connections", "always_project"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} is {getattr(self, name)!r}; expected true or false")

    @property
    def has_projection(self) -> bool:
        """Whether the output h is projected from the cell."""
        return self.always_project or self.projection_dim != self.cell_dim


@dataclass(frozen=True)
class BiLMConfig:
    """The whole network."""

    token_encoder: TokenEncoderConfig
    """How a token becomes a vector."""
    lstm: LstmConfig
    """The LSTM stack of each direction."""
    n_softmax_words: int | None = None
    """Rows of the output softmax; None for a model without one."""

    def __post_init__(self) -> None:
        if self.n_softmax_words is not None:
            at_least(1, largest=_LARGEST, n_softmax_words=self.n_softmax_words)
        encoder, p = self.token_encoder, self.lstm.projection_dim
        if encoder.combine == "add" and encoder.words is not None and encoder.words.dim != p:
            raise ConfigError(
                f"words.dim is {encoder.words.dim}, and projection_dim is {p}; rows that are added "
                "to a token's vector have its width"
            )

    @property
    def dim(self) -> int:
        """Dimensions of a token's vector on each layer: both directions together."""
        return 2 * self.lstm.projection_dim


def canonical_json(config: BiLMConfig, **more: Any) -> str:
    """Return what is hashed of a model: the same text for equal configurations."""
    facts = {"config": dataclasses.asdict(config), **more}
    return json.dumps(facts, sort_keys=True, separators=(",", ":"))


def array_shapes(config: BiLMConfig) -> dict[str, Shape]:
    """Return the name and the shape of every array of a model."""
    return dict(_array_shapes(config))


def _array_shapes(config: BiLMConfig) -> Iterator[tuple[str, Shape]]:
    encoder, lstm = config.token_encoder, config.lstm
    p, c, n_softmax = lstm.projection_dim, lstm.cell_dim, config.n_softmax_words
    if (chars := encoder.chars) is not None:
        n_filters = chars.n_filters
        yield "token_encoder.char_cnn.embedding.weight", (chars.n_characters, chars.char_dim)
        for k, (width, number) in enumerate(chars.filters):
            at = f"token_encoder.char_cnn.convolutions.{k}"
            yield f"{at}.weight", (number, chars.char_dim, width)
            yield f"{at}.bias", (number,)
        for k in range(chars.n_highway):
            for linear in ("gate", "transform"):
                at = f"token_encoder.char_cnn.highways.{k}.{linear}"
                yield f"{at}.weight", (n_filters, n_filters)
                yield f"{at}.bias", (n_filters,)
    if (n_projected := encoder.projected_dim(p)) is not None:
        yield "token_encoder.projection.weight", (p, n_projected)
        yield "token_encoder.projection.bias", (p,)
    if encoder.words is not None:
        yield "token_encoder.words.weight", (encoder.words.n_words, encoder.words.dim)
    for direction in ("forward_lstm", "backward_lstm"):
        for k in range(lstm.n_layers):
            at = f"{direction}.layers.{k}"  # gates in the order i, f, g, o
            yield f"{at}.input_weight", (4 * c, p)
            yield f"{at}.recurrent_weight", (4 * c, p)
            yield f"{at}.bias", (4 * c,)
            if lstm.has_projection:
                yield f"{at}.projection", (p, c)
    if n_softmax is not None:
        yield "softmax.weight", (n_softmax, p)
        yield "softmax.bias", (n_softmax,)
