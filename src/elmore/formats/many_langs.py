"""The folders of ELMoForManyLangs: config.json, char.dic, word.dic and two pickled state dicts.

config.json says little but where the architecture was on its author's disk (`config_path`); a file
of that name is looked for in the folder, and the sample that all published models have is known by
its name. A .dic has a line `token<TAB>row` for each row of a table.

The pickles are read as arrays only (pickled_weights.py).
"""

import re
from pathlib import Path, PureWindowsPath
from typing import Annotated

import msgspec

from elmore.bilm_config import (
    Activation,
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.checks import at_least
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats import many_langs_names as names
from elmore.formats.arrays import check_arrays, shapes_of
from elmore.formats.pickled_weights import read_state_dict
from elmore.formats.pretrained import Pretrained, check_alphabet, check_vocab, check_weights
from elmore.kernels.library import Array
from elmore.metadata import MAX_BYTES, convert_metadata, parse_json, read_limited
from elmore.text import Vocab

CONFIG, CHARACTERS, WORDS = "config.json", "char.dic", "word.dic"
TOKEN_EMBEDDER, ENCODER = "token_embedder.pkl", "encoder.pkl"

_MAX_BYTES, _MAX_LINES = 2**28, 2**24  # of a .dic
_IDEOGRAPHIC_SPACE = "\u3000"  # what a line without a token stands for

# The package brings this architecture under both names, and so few folders have it.
_SAMPLES = ("cnn_50_100_512_4096_sample.json", "cnn_0_100_512_4096_sample.json")
_SAMPLE = {
    "encoder": {
        "name": "elmo",
        "projection_dim": 512,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 4096,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn",
        "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 2,
        "word_dim": 100,
        "char_dim": 50,
        "max_characters_per_token": 50,
    },
}

# --- the architecture -----------------------------------------------------------------------------

_Dim = Annotated[int, msgspec.Meta(ge=0)]


class _Config(msgspec.Struct, frozen=True):
    """config.json; the rest of it is about training."""

    config_path: str


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Kinds(msgspec.Struct, frozen=True):
    """What is looked at first: other encoders have other fields."""

    encoder: _Named
    token_embedder: _Named


class _Encoder(msgspec.Struct, frozen=True):
    dim: int
    projection_dim: int
    n_layers: int
    cell_clip: float | int | None = None
    proj_clip: float | int | None = None


class _TokenEmbedder(msgspec.Struct, frozen=True):
    char_dim: _Dim
    word_dim: _Dim
    max_characters_per_token: int
    activation: Activation = "relu"
    filters: tuple[tuple[int, int], ...] = ()
    n_highway: int = 0


class _Architecture(msgspec.Struct, frozen=True):
    encoder: _Encoder
    token_embedder: _TokenEmbedder


def _read_architecture(folder: Path, config_path: str) -> tuple[_Architecture, Path]:
    """Read the architecture and say where it is."""
    name = PureWindowsPath(config_path).name  # the last part, whatever the separators
    jsons = sorted((*folder.glob("*.json"), *folder.glob("configs/*.json")))
    path = next((path for path in jsons if path.name == name), folder / CONFIG)
    if path.name == name:
        content = parse_json(read_limited(path, MAX_BYTES), path)
    elif name in _SAMPLES:
        content = _SAMPLE
    else:
        raise FormatError(
            f"{path}: config_path is {config_path[:200]!r}, and {folder} has no file of that name; "
            "put the architecture file that the model was trained with there"
        )
    kinds = convert_metadata(content, _Kinds, path)
    for field, found, expected in (
        ("encoder", kinds.encoder.name, "elmo"),
        ("token_embedder", kinds.token_embedder.name, "cnn"),
    ):
        if found.lower() != expected:
            raise FormatError(
                f"{path}: {field}.name is {found[:60]!r}; of ELMoForManyLangs' variants elmore "
                f"reads {expected!r} only, as in all published models"
            )
    return convert_metadata(content, _Architecture, path), path


def _config_of(
    architecture: _Architecture, alphabet: Vocab | None, vocab: Vocab | None
) -> BiLMConfig:
    tokens, lstm = architecture.token_embedder, architecture.encoder
    n_characters = tokens.max_characters_per_token
    at_least(3, max_characters_per_token=n_characters)
    words, chars = None, None
    if vocab is not None:
        words = WordTableConfig(len(vocab), tokens.word_dim, max_length=n_characters - 2)
    if alphabet is not None:
        chars = CharCnnConfig(
            char_dim=tokens.char_dim,
            filters=tokens.filters,
            n_highway=tokens.n_highway,
            activation=tokens.activation,
            max_characters=n_characters,
            char_encoding="alphabet",
            alphabet_size=len(alphabet),
        )
    return BiLMConfig(
        token_encoder=TokenEncoderConfig(chars, words, "concat"),
        lstm=LstmConfig(
            n_layers=lstm.n_layers,
            cell_dim=lstm.dim,
            projection_dim=lstm.projection_dim,
            cell_clip=lstm.cell_clip or None,  # 0 is no clip, too
            projection_clip=lstm.proj_clip or None,
            forget_bias=0.0,  # its biases include it
            always_project=True,
        ),
    )


# --- dictionaries ---------------------------------------------------------------------------------


def _read_dictionary(path: Path) -> Vocab:
    """Read a .dic: the tokens in the order of their rows.

    ELMoForManyLangs strips each line and takes all white space for U+3000, so that it cannot load a
    dictionary with two such characters. Here a token is what stands before the tab.
    """
    if not path.is_file():
        raise FormatError(f"there is no {path}; the model was trained with one")
    content = read_limited(path, _MAX_BYTES)
    if content.count(b"\n") > _MAX_LINES:
        raise FormatError(f"{path} has more than {_MAX_LINES:,} lines; expected a dictionary")
    try:
        lines = content.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 (byte {error.start}); download it again") from None
    tokens: dict[int, str] = {}
    for number, line in enumerate(lines, start=1):
        token, _, row = line.rpartition("\t")
        if "\t" in token or not re.fullmatch(r"\s*[0-9]{1,9}\s*", row, re.ASCII):
            raise FormatError(
                f"{path} has {line[:60]!r} in line {number}; expected a token, a tab and its row"
            )
        if int(row) in tokens or int(row) >= len(lines):
            raise FormatError(
                f"{path} has row {int(row)} in line {number}; expected the rows 0 to "
                f"{len(lines) - 1}, each once"
            )
        tokens[int(row)] = token or _IDEOGRAPHIC_SPACE
    try:
        return Vocab(tokens[row] for row in range(len(lines)))
    except DataError as error:
        raise FormatError(f"{path}: {error}") from None


def _check_dictionary(dictionary: Vocab | None, file: str, table: Array | None, at: Path) -> None:
    """Refuse a dictionary of another model, by the number of its rows."""
    if dictionary is None or table is None or not table.ndim:
        return
    if len(table) != len(dictionary):
        raise FormatError(
            f"{at.parent / file} has {len(dictionary):,} rows, but {at.name} was trained with "
            f"{len(table):,}; use the {file} that the model came with"
        )


# --- folders --------------------------------------------------------------------------------------


def is_many_langs(folder: Path) -> bool:
    """Return whether a folder has weights as ELMoForManyLangs names them."""
    return (folder / TOKEN_EMBEDDER).exists() or (folder / ENCODER).exists()


def read_many_langs(folder: Path, vocab: Path | None = None) -> Pretrained:
    """Read a folder of ELMoForManyLangs.

    Nothing in it says how text was tokenized, so raw strings are split at white space unless their
    user says otherwise.
    """
    if vocab is not None:
        raise FormatError(f"{folder} is of ELMoForManyLangs, with its {WORDS}; {vocab} cannot be")
    path = folder / CONFIG
    if not path.is_file():
        raise FormatError(f"{folder} has weights of ELMoForManyLangs but no {CONFIG}; put it there")
    said = parse_json(read_limited(path, MAX_BYTES), path)
    config_path = convert_metadata(said, _Config, path).config_path
    architecture, where = _read_architecture(folder, config_path)
    tokens = architecture.token_embedder
    alphabet = _read_dictionary(folder / CHARACTERS) if tokens.char_dim else None
    words = _read_dictionary(folder / WORDS) if tokens.word_dim else None
    try:
        config = _config_of(architecture, alphabet, words)
    except ConfigError as error:
        raise FormatError(f"{where}: {error}") from None
    check_vocab(config, words, folder)
    check_alphabet(config, alphabet, folder)
    arrays: dict[str, Array] = {}
    for file, table in (
        (folder / TOKEN_EMBEDDER, [*names.token_embedder(config)]),
        (folder / ENCODER, [*names.encoder(config)]),
    ):
        found = read_state_dict(file)
        if file.name == TOKEN_EMBEDDER:
            _check_dictionary(alphabet, CHARACTERS, found.get(names.CHARACTERS), file)
            _check_dictionary(words, WORDS, found.get(names.WORDS), file)
        check_arrays(shapes_of(found), {one.name: one.shape for one in table}, file)
        for one in table:
            arrays |= zip(one.ours, one.read(found[one.name]), strict=True)
    check_weights(arrays, config, folder)
    return Pretrained(
        config,
        arrays,
        tokenizer="whitespace",
        vocab=words,
        training={"trained_with": "ELMoForManyLangs", **said},
        alphabet=alphabet,
    )
