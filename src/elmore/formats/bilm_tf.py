"""The published format of bilm-tf and AllenNLP: options.json, and HDF5 for all arrays.

The files of a folder are told apart by what they hold, not by their names: weights (`RNN_0`),
softmax (`softmax`). Other files, such as dumped vectors, are left alone.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from elmore.bilm_config import (
    Activation,
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    Shape,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import new_folder, new_output, write_json
from elmore.formats.arrays import check_arrays
from elmore.formats.bilm_tf_names import datasets
from elmore.formats.hdf5 import Hdf5File, NewHdf5, holds
from elmore.formats.pretrained import Pretrained, check_vocab, check_weights
from elmore.kernels.library import Array
from elmore.metadata import MAX_BYTES, convert_metadata, parse_json, read_limited
from elmore.text import Vocab

OPTIONS, WEIGHTS, SOFTMAX, VOCAB = "options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt"
HDF5_SUFFIXES = (".hdf5", ".h5")

# --- options.json ---------------------------------------------------------------------------------


class _Embedding(msgspec.Struct, frozen=True):
    dim: int


class _CharCnn(msgspec.Struct, frozen=True):
    activation: Activation
    embedding: _Embedding
    filters: tuple[tuple[int, int], ...]
    max_characters_per_token: int
    n_characters: Literal[261, 262] = 262  # 261 while training, 262 at inference
    n_highway: int | None = None


class _Lstm(msgspec.Struct, frozen=True):
    dim: int
    n_layers: int
    projection_dim: int
    cell_clip: float | int | None = None
    proj_clip: float | int | None = None
    use_skip_connections: bool = False


class _Options(msgspec.Struct, frozen=True):
    """What options.json says of the network; the rest of it is for training."""

    lstm: _Lstm
    char_cnn: _CharCnn | msgspec.UnsetType = msgspec.UNSET


def _read_config(options: _Options, shapes: Mapping[str, Shape], path: Path) -> BiLMConfig:
    lstm, cnn = options.lstm, options.char_cnn
    try:
        if cnn is not msgspec.UNSET:
            chars = CharCnnConfig(
                char_dim=cnn.embedding.dim,
                filters=cnn.filters,
                n_highway=cnn.n_highway or 0,
                activation=cnn.activation,
                max_characters=cnn.max_characters_per_token,
                char_encoding="bilm-tf",
            )
            encoder = TokenEncoderConfig(chars)
        elif "embedding" in shapes:
            words = WordTableConfig(_n_rows(shapes["embedding"]), lstm.projection_dim)
            encoder = TokenEncoderConfig(words=words)
        else:
            raise FormatError(
                f"{path} lacks char_cnn, and the weights have no embedding of words either; "
                "a model needs one of them"
            )
        return BiLMConfig(
            token_encoder=encoder,
            lstm=LstmConfig(
                n_layers=lstm.n_layers,
                cell_dim=lstm.dim,
                projection_dim=lstm.projection_dim,
                cell_clip=lstm.cell_clip,
                projection_clip=lstm.proj_clip,
                skip_connections=lstm.use_skip_connections,
            ),
            n_softmax_words=_n_rows(shapes["softmax/b"]) if "softmax/b" in shapes else None,
        )
    except ConfigError as error:
        raise FormatError(f"{path}: {error}") from None


def _write_options(model: Pretrained) -> dict[str, Any]:
    config = model.config
    options = dict(model.training)
    if (what := _beyond_bilm_tf(config)) is not None:
        raise ConfigError(
            f"the model {what}, which bilm-tf cannot; keep it as an elmore model folder"
        )
    if (chars := config.token_encoder.chars) is not None:
        cnn = _CharCnn(
            activation=chars.activation,
            embedding=_Embedding(chars.char_dim),
            filters=chars.filters,
            max_characters_per_token=chars.max_characters,
            n_highway=chars.n_highway,
        )
        options["char_cnn"] = msgspec.to_builtins(cnn)
    lstm = _Lstm(
        dim=config.lstm.cell_dim,
        n_layers=config.lstm.n_layers,
        projection_dim=config.lstm.projection_dim,
        cell_clip=config.lstm.cell_clip,
        proj_clip=config.lstm.projection_clip,
        use_skip_connections=config.lstm.skip_connections,
    )
    options["lstm"] = msgspec.to_builtins(lstm)
    return options


def _beyond_bilm_tf(config: BiLMConfig) -> str | None:
    """Return what a model has that the published format cannot say."""
    chars, words, lstm = config.token_encoder.chars, config.token_encoder.words, config.lstm
    reasons = {
        "projects its words and characters together (ELMoForManyLangs)": (
            config.token_encoder.combine == "concat"
        ),
        "adds a word table to its characters": chars is not None and words is not None,
        "looks words up by their first characters": words is not None and bool(words.max_length),
        "reads Hangul as jamo": chars is not None and chars.char_encoding == "jamo",
        "reads an alphabet of its own": chars is not None and chars.char_encoding == "alphabet",
        f"has a forget bias of {lstm.forget_bias}, not 1": lstm.forget_bias != 1,
        "has projections as wide as its cells": (
            lstm.has_projection and lstm.projection_dim == lstm.cell_dim
        ),
    }
    return next((reason for reason, is_so in reasons.items() if is_so), None)


def _n_rows(shape: Shape) -> int:
    return shape[0] if shape else 0  # a scalar has none, and is refused for that


# --- folders --------------------------------------------------------------------------------------


def read_bilm_tf_folder(folder: Path, vocab: Path | None = None) -> Pretrained:
    """Read a folder that holds one options.json and one HDF5 of weights, by any names."""
    options = _only(
        sorted(folder.glob("*options*.json")),
        f"{folder} has neither a config.json nor an options.json",
        "options files",
    )
    hdf5s = sorted(path for path in folder.iterdir() if path.suffix in HDF5_SUFFIXES)
    all_weights = [path for path in hdf5s if holds(path, "RNN_0")]
    softmaxes = [path for path in hdf5s if path not in all_weights and holds(path, "softmax")]
    vocabs = [vocab] if vocab else sorted(folder.glob("vocab*.txt"))
    return read_bilm_tf(
        options,
        _only(all_weights, f"{folder} has {options.name} but no HDF5 of weights", "weights"),
        softmax=_only(softmaxes, "", "softmax files") if softmaxes else None,
        vocab=_only(vocabs, "", "vocabularies") if vocabs else None,
    )


def read_bilm_tf(
    options: Path,
    weights: Path,
    *,
    softmax: Path | None = None,
    vocab: Path | None = None,
) -> Pretrained:
    """Read a published model from its files.

    options.json does not say how the text was tokenized. The published models are English, so that
    is what raw strings get unless their user says otherwise.
    """
    content = parse_json(read_limited(options, MAX_BYTES), options)
    said = convert_metadata(content, _Options, options)
    words = Vocab.load(vocab) if vocab else None
    with ExitStack() as opened:
        files = [opened.enter_context(Hdf5File(path)) for path in (weights, softmax) if path]
        shapes = {name: shape for file in files for name, shape in file.shapes().items()}
        config = _read_config(said, shapes, options)
        check_vocab(config, words, weights.parent)
        table = datasets(config)
        check_arrays(shapes, {dataset.path: dataset.shape for dataset in table}, weights)
        found = {name: array for file in files for name, array in file.arrays().items()}
    arrays = {
        name: np.ascontiguousarray(array)
        for dataset in table
        for name, array in zip(dataset.names, dataset.read(found[dataset.path]), strict=True)
    }
    check_weights(arrays, config, weights)
    extra = {key: value for key, value in content.items() if key not in ("lstm", "char_cnn")}
    return Pretrained(config, arrays, "english", words, extra)


def write_bilm_tf(model: Pretrained, folder: Path) -> None:
    """Write options.json, weights.hdf5 and, where there are any, softmax.hdf5 and vocab.txt."""
    with new_folder(folder) as beside:
        write_json(beside / OPTIONS, _write_options(model))
        table = datasets(model.config)
        softmax = [dataset for dataset in table if dataset.path.startswith("softmax/")]
        weights = [dataset for dataset in table if dataset not in softmax]
        for file_name, part in ((WEIGHTS, weights), (SOFTMAX, softmax)):
            if part:
                with NewHdf5(beside / file_name) as file:
                    for dataset in part:
                        ours = (_wide(model.arrays[name]) for name in dataset.names)
                        file.add(dataset.path, dataset.write(*ours))
        if model.vocab is not None:
            model.vocab.save(beside / VOCAB)


def _wide(array: Array) -> Array:
    return array.astype(np.float32, copy=False)


# --- cached word vectors --------------------------------------------------------------------------


def read_word_vectors(path: Path, vocab: Vocab, projection_dim: int) -> Array:
    """Read cached token vectors: one dataset `embedding`, row i for word i of the vocabulary."""
    with Hdf5File(path) as file:
        check_arrays(file.shapes(), {"embedding": (len(vocab), projection_dim)}, path)
        vectors = file.arrays()["embedding"]
    if not np.isfinite(vectors).all():
        raise FormatError(f"{path} has vectors that are not finite; make it again")
    return vectors


def write_word_vectors(path: str | Path, vectors: Array) -> None:
    """Write token vectors (V, p) for other tools, or for `read_word_vectors`."""
    path = Path(path)
    if vectors.ndim != 2:
        raise DataError(f"word vectors have shape {vectors.shape}; expected (words, numbers)")
    with new_output(path) as beside, NewHdf5(beside) as file:
        file.add("embedding", vectors.astype(np.float32))


def _only(paths: list[Path], none: str, many: str) -> Path:
    if len(paths) == 1:
        return paths[0]
    if not paths:
        raise FormatError(f"{none}; expected exactly one")
    names = ", ".join(path.name for path in paths)
    raise FormatError(f"{paths[0].parent} has {len(paths)} {many} ({names}); expected exactly one")
