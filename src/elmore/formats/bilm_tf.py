"""The published format of bilm-tf and AllenNLP: options.json, and HDF5 for all arrays.

The files of a folder are told apart by what they hold, not by their names: weights (`RNN_0`),
softmax (`softmax`). Other files, such as dumped vectors, are left alone.
"""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import new_file, new_folder, read_json, write_json
from elmore.formats.arrays import check_arrays
from elmore.formats.bilm_tf_names import datasets
from elmore.formats.hdf5 import Array, NewHdf5, holds, read_arrays
from elmore.formats.pretrained import Pretrained, build_bilm, check_vocab
from elmore.model import (
    BiLMConfig,
    CharCnnConfig,
    CharWordConfig,
    LstmConfig,
    WordTableConfig,
)
from elmore.text import Vocab

OPTIONS, WEIGHTS, SOFTMAX, VOCAB = "options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt"
HDF5_SUFFIXES = (".hdf5", ".h5")

# --- options.json ---------------------------------------------------------------------------------


def _read_config(options: Mapping[str, Any], arrays: Mapping[str, Array], path: Path) -> BiLMConfig:
    lstm = _section(options, "lstm", path)
    try:
        if "char_cnn" in options:
            cnn = _section(options, "char_cnn", path)
            n_characters = cnn.get("n_characters", 262)
            if n_characters not in (261, 262):  # 261 while training, 262 at inference
                raise FormatError(
                    f"{path}: char_cnn.n_characters is {n_characters!r}; expected 261 or 262"
                )
            encoder: CharCnnConfig | WordTableConfig = CharCnnConfig(
                char_dim=_field(
                    _section(cnn, "char_cnn.embedding", path), "char_cnn.embedding.dim", path
                ),
                filters=_filters(_field(cnn, "char_cnn.filters", path), path),
                n_highway=cnn.get("n_highway") or 0,
                activation=_field(cnn, "char_cnn.activation", path),
                max_characters=_field(cnn, "char_cnn.max_characters_per_token", path),
                spelling="bilm-tf",
            )
        elif "embedding" in arrays:
            encoder = WordTableConfig(n_words=_n_rows(arrays["embedding"]))
        else:
            raise FormatError(
                f"{path} lacks char_cnn, and the weights have no embedding of words either; "
                "a model needs one of them"
            )
        return BiLMConfig(
            token_encoder=encoder,
            lstm=LstmConfig(
                n_layers=_field(lstm, "lstm.n_layers", path),
                cell_dim=_field(lstm, "lstm.dim", path),
                projection_dim=_field(lstm, "lstm.projection_dim", path),
                cell_clip=lstm.get("cell_clip"),
                projection_clip=lstm.get("proj_clip"),
                skip_connections=lstm.get("use_skip_connections", False),
            ),
            n_softmax_words=_n_rows(arrays["softmax/b"]) if "softmax/b" in arrays else None,
        )
    except ConfigError as error:
        raise FormatError(f"{path}: {error}") from None


def _write_options(model: Pretrained) -> dict[str, Any]:
    config = model.bilm.config
    options = dict(model.training)
    encoder = config.token_encoder
    if isinstance(encoder, CharWordConfig):
        raise ConfigError(
            "the model adds a word table to its characters, which bilm-tf cannot; "
            "keep it as an elmore model folder"
        )
    if isinstance(encoder, CharCnnConfig):
        if encoder.spelling == "jamo":
            raise ConfigError(
                "the model spells Hangul as jamo, which bilm-tf cannot; keep it as a folder of ours"
            )
        options["char_cnn"] = {
            "activation": encoder.activation,
            "embedding": {"dim": encoder.char_dim},
            "filters": [list(pair) for pair in encoder.filters],
            "max_characters_per_token": encoder.max_characters,
            "n_characters": encoder.n_characters,
            "n_highway": encoder.n_highway,
        }
    options["lstm"] = {
        "cell_clip": config.lstm.cell_clip,
        "dim": config.lstm.cell_dim,
        "n_layers": config.lstm.n_layers,
        "proj_clip": config.lstm.projection_clip,
        "projection_dim": config.lstm.projection_dim,
        "use_skip_connections": config.lstm.skip_connections,
    }
    return options


def _section(options: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    section = _field(options, name, path)
    if not isinstance(section, dict):
        raise FormatError(f"{path}: {name} is {section!r}; expected an object")
    return section


def _field(section: Mapping[str, Any], full_name: str, path: Path) -> Any:
    name = full_name.rpartition(".")[2]
    if name not in section:
        raise FormatError(f"{path} lacks {full_name}; it is not a whole options.json of a biLM")
    return section[name]


def _n_rows(array: Array) -> int:
    return len(array) if array.ndim else 0  # a scalar has none, and is refused for that


def _filters(pairs: Any, path: Path) -> tuple[tuple[int, int], ...]:
    if not isinstance(pairs, list) or not all(isinstance(pair, list) for pair in pairs):
        raise FormatError(f"{path}: char_cnn.filters is {pairs!r}; expected [[width, number], …]")
    return tuple(tuple(pair) for pair in pairs)


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
    arrays = read_arrays(weights)
    if softmax is not None:
        arrays |= read_arrays(softmax)
    content = read_json(options)
    config = _read_config(content, arrays, options)
    words = Vocab.load(vocab) if vocab else None
    check_vocab(config, words, weights.parent)
    table = datasets(config)
    check_arrays(
        {name: array.shape for name, array in arrays.items()},
        {dataset.path: dataset.shape for dataset in table},
        weights,
    )
    tensors = {
        name: torch.from_numpy(np.ascontiguousarray(array))
        for dataset in table
        for name, array in zip(dataset.names, dataset.read(arrays[dataset.path]), strict=True)
    }
    extra = {key: value for key, value in content.items() if key not in ("lstm", "char_cnn")}
    return Pretrained(build_bilm(config, tensors, weights), "english", words, extra)


def write_bilm_tf(model: Pretrained, folder: Path) -> None:
    """Write options.json, weights.hdf5 and, where there are any, softmax.hdf5 and vocab.txt."""
    tensors = {name: tensor.numpy(force=True) for name, tensor in model.bilm.state_dict().items()}
    with new_folder(folder) as beside:
        write_json(beside / OPTIONS, _write_options(model))
        table = datasets(model.bilm.config)
        softmax = [dataset for dataset in table if dataset.path.startswith("softmax/")]
        weights = [dataset for dataset in table if dataset not in softmax]
        for file_name, part in ((WEIGHTS, weights), (SOFTMAX, softmax)):
            if part:
                with NewHdf5(beside / file_name) as file:
                    for dataset in part:
                        ours = (tensors[name] for name in dataset.names)
                        file.add(dataset.path, dataset.write(*ours))
        if model.vocab is not None:
            model.vocab.save(beside / VOCAB)


# --- cached word vectors --------------------------------------------------------------------------


def read_word_vectors(path: Path, vocab: Vocab, projection_dim: int) -> Array:
    """Read cached token vectors: one dataset `embedding`, row i for word i of the vocabulary."""
    arrays = read_arrays(path)
    expected = {"embedding": (len(vocab), projection_dim)}
    check_arrays({name: array.shape for name, array in arrays.items()}, expected, path)
    return arrays["embedding"]


def write_word_vectors(path: str | Path, vectors: Array) -> None:
    """Write token vectors (V, p) for other tools, or for `read_word_vectors`."""
    path = Path(path)
    if vectors.ndim != 2:
        raise DataError(f"word vectors have shape {vectors.shape}; expected (words, numbers)")
    with (
        TemporaryDirectory(prefix=f"{path.name}.", suffix=".part", dir=path.parent) as work,
        new_file(path, Path(work)) as beside,
        NewHdf5(beside) as file,
    ):
        file.add("embedding", vectors.astype(np.float32))


def _only(paths: list[Path], none: str, many: str) -> Path:
    if len(paths) == 1:
        return paths[0]
    if not paths:
        raise FormatError(f"{none}; expected exactly one")
    names = ", ".join(path.name for path in paths)
    raise FormatError(f"{paths[0].parent} has {len(paths)} {many} ({names}); expected exactly one")
