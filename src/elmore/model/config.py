"""The shape of a biLM, checked when it is made."""

from dataclasses import dataclass, field
from typing import Literal

from elmore.checks import at_least, one_of
from elmore.errors import ConfigError
from elmore.metadata import MAY_BE_ABSENT

Activation = Literal["relu", "tanh"]
Spelling = Literal["bytes", "jamo", "bilm-tf"]
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
    """Words encoded from characters: embedding, convolutions, highways, projection."""

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
    spelling: Spelling = "bytes"
    """What a character is: a byte of UTF-8 (bytes), the same with Hangul syllables as their letters
    (jamo), or bytes with long words truncated at any byte, as published (bilm-tf)."""

    def __post_init__(self) -> None:
        _check_layers(self)
        widest = max(width for width, _ in self.filters)
        at_least(widest, largest=_MOST_CHARACTERS, max_characters=self.max_characters)
        one_of(Activation, activation=self.activation)
        one_of(Spelling, spelling=self.spelling)

    @property
    def n_characters(self) -> int:
        """Rows of the character table; row 0 belongs to padding tokens."""
        return 330 if self.spelling == "jamo" else 262

    @property
    def n_filters(self) -> int:
        """Dimensions of a word's vector before the projection."""
        return sum(number for _, number in self.filters)


@dataclass(frozen=True)
class AlphabetCnnConfig:
    """Words encoded from the characters of an alphabet: embedding, convolutions, highways."""

    alphabet_size: int
    """Characters of the alphabet, its marks included."""
    char_dim: int
    """Dimensions of a character's vector."""
    filters: tuple[tuple[int, int], ...]
    """The convolutions, each as (width in characters, number of filters)."""
    n_highway: int
    """Highway layers above the convolutions."""
    activation: Activation
    """What follows the max-pooling: "relu" or "tanh"."""

    def __post_init__(self) -> None:
        at_least(1, largest=_LARGEST, alphabet_size=self.alphabet_size)
        _check_layers(self)
        one_of(Activation, activation=self.activation)

    @property
    def n_characters(self) -> int:
        """Rows of the character table; row 0 belongs to padding tokens."""
        return self.alphabet_size + 1

    @property
    def n_filters(self) -> int:
        """Dimensions of a word's vector."""
        return sum(number for _, number in self.filters)


def _check_layers(cnn: CharCnnConfig | AlphabetCnnConfig) -> None:
    at_least(1, largest=_LARGEST, char_dim=cnn.char_dim)
    at_least(0, largest=_MOST_LAYERS, n_highway=cnn.n_highway)
    pairs = cnn.filters if isinstance(cnn.filters, tuple) else ()
    if not pairs or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in pairs):
        raise ConfigError(f"filters is {cnn.filters}; expected pairs of [width, number]")
    at_least(1, largest=_MOST_LAYERS, **{"the number of widths in filters": len(pairs)})
    for width, number in cnn.filters:
        at_least(1, largest=_MOST_CHARACTERS, **{"a filter's width": width})
        at_least(1, largest=_LARGEST, **{"a filter's number": number})


@dataclass(frozen=True)
class WordTableConfig:
    """Words looked up in a table: models with no characters."""

    n_words: int
    """Rows of the table."""

    def __post_init__(self) -> None:
        at_least(1, largest=_LARGEST, n_words=self.n_words)


@dataclass(frozen=True)
class CharWordConfig:
    """Words encoded from characters and looked up in a table: the sum of the two vectors."""

    char_cnn: CharCnnConfig
    """The encoder of all words, also those outside the table."""
    n_words: int
    """Rows of the table: the first words of the vocabulary."""

    def __post_init__(self) -> None:
        at_least(1, largest=_LARGEST, n_words=self.n_words)


@dataclass(frozen=True)
class WordEmbeddingConfig:
    """A table of word vectors of their own dimensions."""

    n_words: int
    """Rows of the table."""
    dim: int
    """Dimensions of a word's vector."""

    def __post_init__(self) -> None:
        at_least(1, largest=_LARGEST, n_words=self.n_words, dim=self.dim)


@dataclass(frozen=True)
class ConcatConfig:
    """A word embedding and a char CNN concatenated, then projected: ELMoForManyLangs."""

    words: WordEmbeddingConfig | None
    """The word embedding; None for a model of characters only."""
    char_cnn: AlphabetCnnConfig | None
    """The encoder of characters; None for a model of words only."""
    max_characters: int
    """Characters in a row, the two word marks included; longer words are truncated, also where
    they are looked up."""

    def __post_init__(self) -> None:
        if self.words is None and self.char_cnn is None:
            raise ConfigError("the token encoder has neither words nor characters; it needs one")
        filters = self.char_cnn.filters if self.char_cnn is not None else ()
        widest = max((3, *(width for width, _ in filters)))
        at_least(widest, largest=_MOST_CHARACTERS, max_characters=self.max_characters)


TokenEncoderConfig = CharCnnConfig | WordTableConfig | CharWordConfig | ConcatConfig


@dataclass(frozen=True)
class LstmConfig:
    """The LSTM stack of each direction."""

    n_layers: int
    """Layers in each direction."""
    cell_dim: int
    """Dimensions of the cell state c."""
    projection_dim: int
    """Dimensions of the output h, and of a token's vector. Equal to cell_dim: no projection."""
    cell_clip: float | int | None = 3.0
    """Largest magnitude in c; none for no limit."""
    projection_clip: float | int | None = 3.0
    """Largest magnitude in a projected h; none for no limit."""
    skip_connections: bool = True
    """Whether the output of each layer but the first adds its input."""
    # Not in the repr, which fingerprints of models are made of; see Pretrained.fingerprint.
    forget_bias: float | int = field(default=1.0, repr=False, metadata={MAY_BE_ABSENT: True})
    """Added to the forget gate's bias: 1, or 0 where the bias includes it (ELMoForManyLangs)."""

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
            if clip is not None and not (type(clip) in (int, float) and 0 < clip <= _LARGEST_CLIP):
                raise ConfigError(
                    f"{name} is {clip!r}; expected a number above 0 that float32 can hold, or none"
                )
        if type(self.forget_bias) not in (int, float) or not -9 <= self.forget_bias <= 9:
            raise ConfigError(
                f"forget_bias is {self.forget_bias!r}; expected a number from -9 to 9, such as 1"
            )
        if not isinstance(self.skip_connections, bool):
            raise ConfigError(
                f"skip_connections is {self.skip_connections!r}; expected true or false"
            )


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

    @property
    def dim(self) -> int:
        """Dimensions of a token's vector on each layer: both directions together."""
        return 2 * self.lstm.projection_dim

    @property
    def char_cnn(self) -> CharCnnConfig | None:
        """The encoder of bytes or jamo; None for a model of words only, and with an alphabet."""
        encoder = self.token_encoder
        if isinstance(encoder, CharWordConfig):
            return encoder.char_cnn
        return encoder if isinstance(encoder, CharCnnConfig) else None

    @property
    def n_table_words(self) -> int | None:
        """Rows of the word table; None for a model of characters only."""
        encoder = self.token_encoder
        if isinstance(encoder, ConcatConfig):
            return None if encoder.words is None else encoder.words.n_words
        return None if isinstance(encoder, CharCnnConfig) else encoder.n_words

    @property
    def alphabet_size(self) -> int | None:
        """Characters of the alphabet; None for a model without one."""
        encoder = self.token_encoder
        cnn = encoder.char_cnn if isinstance(encoder, ConcatConfig) else None
        return None if cnn is None else cnn.alphabet_size
