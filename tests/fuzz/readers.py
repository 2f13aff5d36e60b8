"""The readers under test: how a whole folder is made, and how it is read.

To add one, write `make(folder)` and `read(folder)`, which returns what is compared with `==` to
what the whole folder gives, and name the files to damage. A file in `checked` has a checksum: if it
is damaged and what is read is not the same, the reader has believed it.
"""

import bz2
import gzip
import io
import json
import lzma
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmore.corpus.files import read_texts
from elmore.formats import (
    Calibration,
    Pretrained,
    read_pretrained,
    read_word_vectors,
    write_bilm_tf,
    write_native,
    write_word_vectors,
)
from elmore.model import BiLM, BiLMConfig, CharCnnConfig, CharWordConfig, LstmConfig
from elmore.text import Vocab

MANY_LANGS = Path(__file__).resolve().parents[1] / "formats/many_langs"
WORDS = ["<S>", "</S>", "<UNK>", "bank", "은행", "river"]


@dataclass(frozen=True)
class Reader:
    """One thing that reads files."""

    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    files: tuple[str, ...]
    checked: tuple[str, ...] = ()


def _model(*, table: bool) -> Pretrained:
    torch.manual_seed(0)
    chars = CharCnnConfig(3, ((1, 2), (2, 3)), 1, "relu")
    encoder = CharWordConfig(chars, len(WORDS)) if table else chars
    config = BiLMConfig(encoder, LstmConfig(1, 4, 3), len(WORDS))
    ones = dict.fromkeys((0, 1, "context"), np.ones(6, np.float32))
    ones["expected"] = np.ones(3, np.float32)
    calibration = Calibration(ones, ones, 10, ("a.txt",))
    return Pretrained(BiLM(config), "whitespace", Vocab(WORDS), {"epochs": 1}, None, calibration)


def _facts(folder: Path) -> Any:
    model = read_pretrained(folder)
    for name, tensor in model.bilm.state_dict().items():
        assert tensor.isfinite().all(), f"{name} is not finite"
    calibration = model.calibration and model.calibration.fingerprint()
    return model.fingerprint(), model.tokenizer, model.normalization, calibration


def _without_checksums(folder: Path) -> None:
    write_native(_model(table=True), folder)
    config = json.loads((folder / "config.json").read_text())
    del config["files"]
    (folder / "config.json").write_text(json.dumps(config))


def _vectors(folder: Path) -> None:
    write_word_vectors(folder / "words.hdf5", np.ones((len(WORDS), 4), np.float32))


def _read_vectors(folder: Path) -> bytes:
    return read_word_vectors(folder / "words.hdf5", Vocab(WORDS), 4).tobytes()


TEXTS = {
    "txt": "one line\n두 줄\n\nthird , line\n".encode() * 20,
    "jsonl": b'{"text": "one\\ntwo", "n": [1, {}]}\n{"text": "\xea\xb0\x80"}\n' * 20,
    "csv": b"n,text\n" + b'1,"one, ""two""\nthree"\n2,four\n' * 20,
    "tsv": b"text\tn\n" + b"one two\t1\n" * 20,
}


def _zip(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.txt", content)
    return file.getvalue()


def _zst(content: bytes) -> bytes:
    import zstandard

    return bytes(zstandard.ZstdCompressor(write_checksum=True).compress(content))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": _zip,
    ".zst": _zst,
}


def _texts(name: str, content: bytes) -> Reader:
    return Reader(
        lambda folder: (folder / name).write_bytes(content) and None,
        lambda folder: list(read_texts([folder / name], "text", max_line_bytes=2**20)),
        (name,),
    )


def _parquet(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({"text": ["one two", "셋"] * 50, "n": list(range(100))})
    parquet.write_table(table, folder / "a.parquet")


MODEL_FILES = ("config.json", "model.safetensors", "vocab.txt", "calibration.safetensors")
READERS: dict[str, Reader] = {
    "model": Reader(
        lambda folder: write_native(_model(table=False), folder),
        _facts,
        MODEL_FILES,
        MODEL_FILES[1:],
    ),
    "model without checksums": Reader(_without_checksums, _facts, MODEL_FILES),
    "published": Reader(
        lambda folder: write_bilm_tf(_model(table=False), folder),
        _facts,
        ("options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt"),
    ),
    **{
        f"many langs {kind}": Reader(
            lambda folder, kind=kind: (
                shutil.copytree(  # type: ignore[misc]
                    MANY_LANGS / kind, folder, dirs_exist_ok=True
                )
                and None
            ),
            _facts,
            files,
        )
        for kind, files in {
            "both": ("config.json", "tiny.json", "char.dic", "word.dic", "encoder.pkl"),
            "characters": ("token_embedder.pkl", "encoder.pkl"),  # not zip files
        }.items()
    },
    "word vectors": Reader(_vectors, _read_vectors, ("words.hdf5",)),
    **{f"texts .{kind}": _texts(f"a.{kind}", content) for kind, content in TEXTS.items()},
    **{
        f"texts {packing}": _texts(f"a.txt{packing}", pack(TEXTS["txt"]))
        for packing, pack in PACKERS.items()
        if packing
    },
    "texts .parquet": Reader(
        _parquet, lambda folder: list(read_texts([folder / "a.parquet"], "text")), ("a.parquet",)
    ),
}
