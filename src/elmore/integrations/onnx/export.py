"""An `Elmo` in, an ONNX file of the whole network out, from ids to layers and their mix.

The file is for any ONNX runtime, on a server, a phone or in a browser. Its metadata say how words
become ids. What is not in it: the tokenizer, and the softmax, which the layers do not need.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from elmore.embed import Elmo
from elmore.errors import ConfigError, MissingExtraError
from elmore.folders import check_new, new_output
from elmore.formats import Pretrained
from elmore.integrations.onnx.network import OPSET, bilm_graph
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    OUTSIDE,
    IdEncoder,
)
from elmore.text.alphabet import alphabet_ids
from elmore.text.chars import byte_ids

if TYPE_CHECKING:
    import onnx

_IR_VERSION = 8  # that of the opset
_MAX_BYTES = 2**31 - 2**24  # of a protobuf file, less what is not weights


def export_onnx(elmo: Elmo, path: str | Path) -> None:
    """Write the network and its mix as an ONNX file; no file may exist there.

    The inputs are `token_ids`, the ids that `Elmo.ids` makes, and `lengths` (B,), the tokens of
    each sentence with its marks. The outputs are `token_vectors` (B, T, D / 2), `layers`
    (B, L + 1, T, D) and `mix` (B, T, D), all 0 at padding. B and T are dynamic.
    """
    path = Path(path)
    check_onnx_path(path)
    model = to_onnx(elmo)
    try:
        with new_output(path) as beside:
            beside.write_bytes(model.SerializeToString())
    except OSError as error:
        raise _not_written(path, error) from None


def check_onnx_path(path: Path) -> None:
    """Refuse a path that cannot become an ONNX file."""
    if path.suffix != ".onnx":
        raise ConfigError(f"{path} does not end in .onnx, the format that can be exported to")
    try:
        check_new(path)
    except OSError as error:
        raise _not_written(path, error) from None
    if not path.parent.is_dir():
        raise ConfigError(
            f"there is no folder {path.parent} to write {path.name} into; make it first"
        )


def _not_written(path: Path, error: OSError) -> ConfigError:  # which names a file beside it
    return ConfigError(
        f"{path} cannot be written ({error.strerror or error}); choose another place"
    )


def to_onnx(elmo: Elmo) -> "onnx.ModelProto":
    """Return the network and its mix as an ONNX model."""
    try:
        from onnx import helper  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingExtraError("an ONNX file", "onnx") from None
    from elmore import __version__  # noqa: PLC0415

    mix = elmo.mix
    if mix.norm != "none" or mix.context_layer:
        what = "a context layer" if mix.context_layer else f"the norm {mix.norm!r}"
        raise ConfigError(f"the mix has {what}, which cannot be exported; mix the layers without")
    n_bytes = sum(
        4 * p.numel() for name, p in elmo.bilm.named_parameters() if "softmax" not in name
    )
    if n_bytes > _MAX_BYTES:
        raise ConfigError(
            f"the model has {n_bytes / 1e9:.1f} GB of weights, and an ONNX file can hold 2 GB; "
            "export a smaller model"
        )
    model = helper.make_model(
        bilm_graph(elmo.bilm, torch.tensor(mix.scales())),
        producer_name="elmore",
        producer_version=__version__,
        ir_version=_IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    helper.set_model_props(model, metadata_of(elmo.model))
    return model


def metadata_of(model: Pretrained) -> dict[str, str]:
    """Return what a caller needs to know besides the graph; `token_ids` and lists are JSON."""
    metadata = {
        "tokenizer": model.tokenizer,
        "normalization": model.normalization or "none",
        "fingerprint": model.fingerprint(),
        "token_ids": json.dumps(_token_ids(model.encoder)),
    }
    if model.config.token_encoder.words is not None:
        assert model.vocab is not None
        metadata["vocabulary"] = json.dumps(model.vocab.words, ensure_ascii=False)
    if model.alphabet is not None:
        metadata["alphabet"] = json.dumps(model.alphabet.words, ensure_ascii=False)
    return metadata


def _token_ids(encoder: IdEncoder) -> dict[str, Any]:
    """Say how words become ids; see docs/reference/formats.md."""
    chars, words = encoder.config.chars, encoder.config.words
    said: dict[str, Any] = {}
    if chars is not None:
        said = {"characters": chars.char_encoding, "max_characters": chars.max_characters}
        marks = [BEGIN_SENTENCE, END_SENTENCE]
        if encoder.alphabet is None:
            begin, end = byte_ids(marks, 4, chars.char_encoding).tolist()
            said["first_byte"] = int(byte_ids(["\0"])[0, 1])
        else:
            begin, end = alphabet_ids(marks, 4, encoder.alphabet).tolist()
            said["unknown_character"] = int(encoder.alphabet.encode([OUTSIDE])[0]) + 1
            said["first_character"] = 1
        said |= zip(("begin_word", "begin_sentence", "end_word", "padding"), begin, strict=True)
        said["end_sentence"] = end[1]
        if chars.char_encoding == "jamo":
            initial, vowel, final = byte_ids(["가"], 5, "jamo")[0, 1:4].tolist()
            said["first_jamo"] = [initial, vowel, final]
    if words is not None:
        said |= {"first_word": 1, "unknown_word": encoder.outside}
        if words.max_length is not None:
            said["max_word_length"] = words.max_length
    return said
