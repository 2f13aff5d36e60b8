"""Our own model folder: config.json, model.safetensors and, where there are, vocab.txt and
calibration.safetensors.

config.json holds the architecture, the tokenizer and where the model was trained. Every field must
be there and none may be unknown, so that a typing mistake is an error and never a default.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from elmore.errors import ConfigError, FormatError
from elmore.folders import as_tuples, new_folder, read_json, shared_mode, write_json
from elmore.formats.calibration import read_calibration, write_calibration
from elmore.formats.pretrained import Pretrained, build_bilm, check_vocab
from elmore.model import (
    BiLMConfig,
    CharCnnConfig,
    CharWordConfig,
    LstmConfig,
    WordTableConfig,
)
from elmore.model.config import TokenEncoderConfig
from elmore.text import Normalization, Vocab, tokenizer_by_name

CONFIG, WEIGHTS, VOCAB = "config.json", "model.safetensors", "vocab.txt"
FORMAT = "elmore-bilm-1"

_TOKEN_ENCODERS: dict[str, type[TokenEncoderConfig]] = {
    "char_cnn": CharCnnConfig,
    "word_table": WordTableConfig,
    "char_word": CharWordConfig,
}
_KEYS = (
    "format", "normalization", "tokenizer", "token_encoder", "lstm", "n_softmax_words", "training",
)  # fmt: skip

T = TypeVar("T")


def read_native(folder: Path, vocab: Path | None = None) -> Pretrained:
    """Read a model folder of ours; `vocab` is for one that has no vocabulary of its own."""
    path = folder / CONFIG
    content = read_json(path)
    _same_keys(content, _KEYS, path, "the configuration")
    if content["format"] != FORMAT:
        raise FormatError(f"{path}: format is {content['format']!r}; this version reads {FORMAT!r}")
    if not isinstance(content["training"], dict):
        raise FormatError(f"{path}: training is {content['training']!r}; expected an object")
    if content["normalization"] not in (None, *get_args(Normalization)):
        raise FormatError(
            f"{path}: normalization is {content['normalization']!r}; "
            f"expected null or {', '.join(get_args(Normalization))}"
        )
    try:
        tokenizer_by_name(str(content["tokenizer"]))
        config = BiLMConfig(
            token_encoder=_read_token_encoder(content["token_encoder"], path),
            lstm=_read_fields(LstmConfig, content["lstm"], path, "lstm"),
            n_softmax_words=content["n_softmax_words"],
        )
    except ConfigError as error:
        raise FormatError(f"{path}: {error}") from None
    if (folder / VOCAB).exists():
        if vocab is not None:
            raise FormatError(f"{folder} has its own vocabulary; {vocab} cannot replace it")
        vocab = folder / VOCAB
    words = Vocab.load(vocab) if vocab else None
    check_vocab(config, words, folder)
    try:
        tensors = load_file(folder / WEIGHTS)
    except FileNotFoundError:
        raise FormatError(
            f"{folder} has {CONFIG} but no {WEIGHTS}; the folder needs both"
        ) from None
    except SafetensorError as error:
        raise FormatError(f"{folder / WEIGHTS} cannot be read ({error}); copy it anew") from None
    bilm = build_bilm(config, tensors, folder / WEIGHTS)
    return Pretrained(
        bilm,
        content["tokenizer"],
        words,
        content["training"],
        content["normalization"],
        read_calibration(folder, config),
    )


def write_native(
    model: Pretrained, folder: Path, dtype: Literal["float32", "float16"] = "float32"
) -> None:
    """Write a model folder of ours; `dtype` is what the weights are stored in."""
    config = model.bilm.config
    kind = next(k for k, cls in _TOKEN_ENCODERS.items() if isinstance(config.token_encoder, cls))
    content = {
        "format": FORMAT,
        "normalization": model.normalization,
        "tokenizer": model.tokenizer,
        "token_encoder": {"kind": kind, **dataclasses.asdict(config.token_encoder)},
        "lstm": dataclasses.asdict(config.lstm),
        "n_softmax_words": config.n_softmax_words,
        "training": dict(model.training),
    }
    stored = {
        name: tensor.to("cpu", getattr(torch, dtype)).contiguous()
        for name, tensor in model.bilm.state_dict().items()
    }
    with new_folder(folder) as beside:
        write_json(beside / CONFIG, content)
        try:
            save_file(stored, beside / WEIGHTS)
            shared_mode(beside / WEIGHTS)  # safetensors makes it private
        except SafetensorError as error:  # such as a full disk
            raise OSError(f"{folder} cannot be written: {error}") from None
        if model.vocab is not None:
            model.vocab.save(beside / VOCAB)
        if model.calibration is not None:
            write_calibration(model.calibration, beside)


def _read_token_encoder(content: Any, path: Path) -> TokenEncoderConfig:
    kind = str(content.get("kind")) if isinstance(content, dict) else None
    if kind not in _TOKEN_ENCODERS:
        raise FormatError(
            f"{path}: token_encoder.kind is {kind!r}; expected one of {', '.join(_TOKEN_ENCODERS)}"
        )
    fields = {key: value for key, value in content.items() if key != "kind"}
    if "char_cnn" in fields:
        fields["char_cnn"] = _read_fields(
            CharCnnConfig, fields["char_cnn"], path, "token_encoder.char_cnn"
        )
    return _read_fields(_TOKEN_ENCODERS[kind], fields, path, "token_encoder")


def _read_fields(cls: type[T], content: Any, path: Path, name: str) -> T:
    if not isinstance(content, dict):
        raise FormatError(f"{path}: {name} is {content!r}; expected an object")
    assert dataclasses.is_dataclass(cls)
    _same_keys(content, [field.name for field in dataclasses.fields(cls)], path, name)
    return cls(**{key: as_tuples(value) for key, value in content.items()})


def _same_keys(content: Mapping[str, Any], keys: Any, path: Path, name: str) -> None:
    for problem, names in (
        ("lacks", set(keys) - content.keys()),
        ("has the unknown", content.keys() - set(keys)),
    ):
        if names:
            raise FormatError(f"{path}: {name} {problem} {', '.join(sorted(names))}")
