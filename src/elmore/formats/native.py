"""Our own model folder: config.json, model.safetensors and, where there are, vocab.txt,
alphabet.txt and calibration.safetensors.

config.json holds the architecture, the tokenizer, where the model was trained, and the sizes and
checksums of the other files. Every field but the last must be there and none may be unknown, so
that a typing mistake is an error and never a default.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from elmore.bilm_config import BiLMConfig, LstmConfig, TokenEncoderConfig
from elmore.checksums import (
    CheckedFile,
    FileRecord,
    check_file,
    check_names,
    describe_file,
    read_checked,
    verify_files,
)
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import new_folder, shared_mode, write_json
from elmore.formats.arrays import not_finite
from elmore.formats.calibration import CALIBRATION, parse_calibration, write_calibration
from elmore.formats.pretrained import (
    Pretrained,
    check_alphabet,
    check_vocab,
    check_weights,
)
from elmore.formats.safetensors_files import parse_safetensors
from elmore.metadata import MAX_BYTES, convert_metadata, parse_json, read_limited
from elmore.text import Normalization, Vocab, tokenizer_by_name

CONFIG, WEIGHTS, VOCAB, ALPHABET = "config.json", "model.safetensors", "vocab.txt", "alphabet.txt"
FILES = (CONFIG, WEIGHTS, VOCAB, ALPHABET, CALIBRATION)
FORMAT: Literal["elmore-bilm-1"] = "elmore-bilm-1"


class ModelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """config.json."""

    format: Literal["elmore-bilm-1"]
    normalization: Normalization | None
    tokenizer: str
    token_encoder: TokenEncoderConfig
    lstm: LstmConfig
    n_softmax_words: int | None
    training: dict[str, Any]
    files: dict[str, FileRecord] | None = None
    """The data files beside it; folders of earlier versions do not say."""


def read_model_file(folder: Path) -> ModelFile:
    """Read the config.json of an elmore model folder."""
    path = folder / CONFIG
    content = parse_json(read_limited(path, MAX_BYTES), path)
    if isinstance(content, dict) and content.get("format") == "elmore-task-1":
        raise FormatError(
            f"{folder} is a trained task, not a model; use it with elmore predict or evaluate"
        )
    said = convert_metadata(content, ModelFile, path)
    check_names(said.files or {}, path)
    return said


def read_native(folder: Path, vocab: Path | None = None, *, verify: bool = True) -> Pretrained:
    """Read an elmore model folder; `vocab` is for one that has no vocabulary of its own.

    Where the folder has checksums, its files must match them, unless `verify` is false. Each file
    is read once: what was checked is what is loaded.
    """
    path = folder / CONFIG
    said = read_model_file(folder)
    try:
        tokenizer_by_name(said.tokenizer)
        config = BiLMConfig(said.token_encoder, said.lstm, said.n_softmax_words)
    except ConfigError as error:
        raise FormatError(f"{path}: {error}") from None
    if not (folder / WEIGHTS).is_file():
        raise FormatError(f"{folder} has {CONFIG} but no {WEIGHTS}; the folder needs both")
    records = said.files or {} if verify else {}
    for name in records.keys() - {*FILES}:
        check_file(folder / name, records[name])

    def content(name: str) -> bytes | None:
        """Return the bytes of a file, None if neither it nor a record of it is there."""
        is_there = name in records or (folder / name).exists()
        return read_checked(folder / name, records.get(name)) if is_there else None

    words = _read_vocab(content(VOCAB), folder, vocab)
    check_vocab(config, words, folder)
    characters = content(ALPHABET)
    alphabet = None if characters is None else Vocab.parse(characters, folder / ALPHABET)
    check_alphabet(config, alphabet, folder)
    weights = content(WEIGHTS)
    assert weights is not None
    _, arrays = parse_safetensors(weights, folder / WEIGHTS)
    # Weights with a checksum were finite when they were written, and are the same still.
    check_weights(arrays, config, folder / WEIGHTS, finite=WEIGHTS not in records)
    measured = content(CALIBRATION)
    return Pretrained(
        config,
        arrays,
        said.tokenizer,
        words,
        said.training,
        said.normalization,
        None if measured is None else parse_calibration(measured, folder / CALIBRATION, config),
        alphabet,
    )


def _read_vocab(content: bytes | None, folder: Path, given: Path | None) -> Vocab | None:
    if content is None:
        return Vocab.load(given) if given else None
    if given is not None:
        raise FormatError(f"{folder} has its own vocabulary; {given} cannot replace it")
    return Vocab.parse(content, folder / VOCAB)


def verify_native(folder: Path) -> Iterator[CheckedFile]:
    """Check every file of a model folder: against its checksum if it has one, and by reading it."""
    files = read_model_file(folder).files or {}
    found = list(verify_files(folder, files))
    others = [name for name in (WEIGHTS, VOCAB, ALPHABET, CALIBRATION) if name not in files]
    found += [CheckedFile(name, False) for name in others if (folder / name).exists()]
    problem = None
    if not any(one.problem for one in found):
        try:
            read_native(folder, verify=False)
        except FormatError as error:
            problem = str(error)
    yield CheckedFile(CONFIG, False, problem)
    yield from found


def write_native(
    model: Pretrained, folder: Path, dtype: Literal["float32", "float16"] = "float32"
) -> None:
    """Write an elmore model folder; `dtype` is what the weights are stored in."""
    config = model.config
    with np.errstate(over="ignore"):  # what overflows is not finite
        stored = {
            name: np.ascontiguousarray(array, np.dtype(dtype))
            for name, array in model.arrays.items()
        }
    for name in not_finite(stored):
        raise DataError(
            f"{name} has weights that are not finite in {dtype}; the model cannot be written"
        )
    with new_folder(folder) as beside:
        try:
            save_file(stored, beside / WEIGHTS)
            shared_mode(beside / WEIGHTS)  # safetensors makes it private
        except SafetensorError as error:  # such as a full disk
            raise OSError(f"{folder} cannot be written: {error}") from None
        if model.vocab is not None:
            model.vocab.save(beside / VOCAB)
        if model.alphabet is not None:
            model.alphabet.save(beside / ALPHABET)
        if model.calibration is not None:
            write_calibration(model.calibration, beside)
        write_json(
            beside / CONFIG,
            ModelFile(
                format=FORMAT,
                normalization=model.normalization,
                tokenizer=model.tokenizer,
                token_encoder=config.token_encoder,
                lstm=config.lstm,
                n_softmax_words=config.n_softmax_words,
                training=dict(model.training),
                files={path.name: describe_file(path) for path in sorted(beside.iterdir())},
            ),
        )
