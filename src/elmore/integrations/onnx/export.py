"""An `Elmo` in, an ONNX file of the whole network out, from ids to layers and their mix.

The file is for any ONNX runtime, on a server, a phone or in a browser. Its metadata say how words
become ids. What is not in it: the tokenizer, and the softmax, which the layers do not need.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from elmore.embed import Elmo
from elmore.errors import ConfigError, MissingExtraError
from elmore.folders import new_file
from elmore.formats import Pretrained
from elmore.integrations.onnx.network import OPSET, bilm_graph
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    OUTSIDE,
    UNKNOWN,
    AlphabetEncoder,
    CharEncoder,
    CharWordEncoder,
    Vocab,
)

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
        with (
            TemporaryDirectory(prefix=f"{path.name}.", suffix=".part", dir=path.parent) as work,
            new_file(path, Path(work)) as beside,
        ):
            beside.write_bytes(model.SerializeToString())
    except OSError as error:  # which names the file beside
        raise ConfigError(
            f"{path} cannot be written ({error.strerror or error}); choose another place"
        ) from None


def check_onnx_path(path: Path) -> None:
    """Refuse a path that cannot become an ONNX file."""
    if path.suffix != ".onnx":
        raise ConfigError(f"{path} does not end in .onnx, the format that can be exported to")
    if path.exists():
        raise ConfigError(f"{path} exists already; choose another name")
    if not path.parent.is_dir():
        raise ConfigError(
            f"there is no folder {path.parent} to write {path.name} into; make it first"
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
        bilm_graph(elmo.bilm, mix.gamma * mix.s),
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
    if model.bilm.config.n_table_words is not None:
        assert model.vocab is not None
        metadata["vocabulary"] = json.dumps(model.vocab.words, ensure_ascii=False)
    if model.alphabet is not None:
        metadata["alphabet"] = json.dumps(model.alphabet.words, ensure_ascii=False)
    return metadata


def _token_ids(encoder: CharEncoder | CharWordEncoder | AlphabetEncoder | Vocab) -> dict[str, Any]:
    """Say how words become ids; see docs/reference/formats.md."""
    match encoder:
        case CharEncoder(max_characters=n, spelling=spelling):
            said = {"characters": spelling, "max_characters": n, **_marks(CharEncoder(4, spelling))}
            _, said["first_byte"], *_ = CharEncoder(3).encode(["\0"])[0].tolist()
            if spelling == "jamo":
                first_syllable = CharEncoder(5, spelling).encode(["가"])[0].tolist()
                said["first_jamo"] = first_syllable[1:4]  # initial, vowel, final
            return said
        case CharWordEncoder(chars=chars):
            return {**_token_ids(chars), "first_word": 1, "unknown_word": 0}
        case AlphabetEncoder(max_characters=n, alphabet=alphabet, vocab=vocab):
            said = {"max_characters": n}
            if alphabet is not None:
                said |= {"characters": "alphabet", **_marks(AlphabetEncoder(4, alphabet, None))}
                said |= {"first_character": 1, "unknown_character": _row(alphabet, OUTSIDE) + 1}
            if vocab is not None:
                said |= {"first_word": 1, "unknown_word": encoder.outside + 1}
            return said
        case Vocab():
            return {"first_word": 0, "unknown_word": encoder.row(UNKNOWN)}


def _marks(encoder: CharEncoder | AlphabetEncoder) -> dict[str, Any]:
    """Return the ids of the marks, from what an encoder makes of the shortest words."""
    begin, end = encoder.encode([BEGIN_SENTENCE, END_SENTENCE]).tolist()
    begin_word, begin_sentence, end_word, padding = begin
    return {
        "begin_word": begin_word, "end_word": end_word, "padding": padding,
        "begin_sentence": begin_sentence, "end_sentence": end[1],
    }  # fmt: skip


def _row(vocab: Vocab, word: str) -> int:
    row = vocab.row(word)
    assert row is not None  # held by check_vocab and check_alphabet
    return row
