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
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from elmore.bilm_config import BiLMConfig, LstmConfig, TokenEncoderConfig
from elmore.checksums import (
    CheckedFile,
    FileRecord,
    check_names,
    checked_files,
    describe_file,
    verify_files,
)
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import new_folder, shared_mode, write_json
from elmore.formats.calibration import CALIBRATION, read_calibration, write_calibration
from elmore.formats.pretrained import (
    Pretrained,
    build_bilm,
    check_alphabet,
    check_vocab,
    not_finite,
)
from elmore.formats.safetensors_files import read_safetensors
from elmore.metadata import read_metadata
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
    said = read_metadata(path, ModelFile)
    check_names(said.files or {}, path)
    return said


def read_native(folder: Path, vocab: Path | None = None, *, verify: bool = True) -> Pretrained:
    """Read an elmore model folder; `vocab` is for one that has no vocabulary of its own.

    Where the folder has checksums, its files must match them, unless `verify` is false.
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
    if vocab is not None and (folder / VOCAB).exists():
        raise FormatError(f"{folder} has its own vocabulary; {vocab} cannot replace it")
    with checked_files(folder, said.files or {}, verify=verify):
        verified = verify and WEIGHTS in (said.files or {})
        return _read_files(folder, said, config, vocab, verified=verified)


def _read_files(
    folder: Path, said: ModelFile, config: BiLMConfig, vocab: Path | None, *, verified: bool
) -> Pretrained:
    if (folder / VOCAB).exists():
        vocab = folder / VOCAB
    words = Vocab.load(vocab) if vocab else None
    check_vocab(config, words, folder)
    alphabet = Vocab.load(folder / ALPHABET) if (folder / ALPHABET).exists() else None
    check_alphabet(config, alphabet, folder)
    _, tensors = read_safetensors(folder / WEIGHTS, "pt")
    bilm = build_bilm(config, tensors, folder / WEIGHTS, verified=verified)
    return Pretrained(
        bilm,
        said.tokenizer,
        words,
        said.training,
        said.normalization,
        read_calibration(folder, config),
        alphabet,
    )


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
    config = model.bilm.config
    stored = {
        name: tensor.to("cpu", getattr(torch, dtype)).contiguous()
        for name, tensor in model.bilm.state_dict().items()
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
