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
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmore.corpus.config import CorpusConfig
from elmore.corpus.files import fingerprint, read_texts
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus
from elmore.embed.results import TokenVectors
from elmore.embed.spool import Block, BlockSpool
from elmore.folders import write_json
from elmore.formats import (
    Calibration,
    Pretrained,
    read_pretrained,
    read_word_vectors,
    write_bilm_tf,
    write_native,
    write_word_vectors,
)
from elmore.formats.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from elmore.metadata import convert_metadata
from elmore.model import BiLM, BiLMConfig, CharCnnConfig, CharWordConfig, LstmConfig
from elmore.pretrain.loop import LastFacts
from elmore.pretrain.recipes import (
    RunFile,
    bundled_recipes,
    read_recipe,
    read_run,
    recipe_from,
    recipe_to,
)
from elmore.text import Vocab

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


def _corpus(folder: Path) -> None:
    text = folder / "text.txt"
    text.write_text("둘 하나 둘\n셋 둘 넷 하나\n둘 하나 다섯 섯\n" * 4, encoding="utf-8")
    prepare([text], folder / "made", CorpusConfig("whitespace", max_words=5, held_out=0.3))
    for path in (folder / "made").iterdir():
        path.rename(folder / path.name)


def _earlier_corpus(folder: Path) -> None:
    _corpus(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["checksum"]
    manifest["files"] = {name: fingerprint(folder / name) for name in manifest["files"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _corpus_without_checksums(folder: Path) -> None:
    _earlier_corpus(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    for record in manifest["files"].values():
        del record["sha256"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def _read_corpus(folder: Path) -> Any:
    corpus = Corpus.load(folder)
    return corpus.vocab.words, [
        (
            shard.ids.tobytes(),
            shard.ends.tobytes(),
            shard.words(np.arange(shard.first_outside, shard.first_outside + shard.n_outside)),
        )
        for shard in corpus.training.shards + corpus.held_out.shards
    ]


def _checkpoint(folder: Path) -> None:
    torch.manual_seed(0)
    score = {"n_predictions": 9, "n_unknown": 1, "n_words": 8, "forward_nll": 9.5}
    facts = {
        "update": 12, "n_since_best": 0, "held_out": {**score, "backward_nll": 9.25}, "best": None,
        "metrics_length": 100, "seconds": 1.5,
    }  # fmt: skip
    tensors = {"bilm.w": torch.randn(3, 4), "state.h": torch.randn(2, 5), "n": torch.arange(3)}
    write_checkpoint(folder / "last.safetensors", Checkpoint(tensors, facts))


def _read_checkpoint(folder: Path) -> Any:
    path = folder / "last.safetensors"
    found = read_checkpoint(path)
    tensors = {name: tensor.numpy().tobytes() for name, tensor in found.tensors.items()}
    return tensors, convert_metadata(found.facts, LastFacts, path)


def _recipe(folder: Path) -> None:
    (folder / "mine.toml").write_bytes(bundled_recipes()["tiny"].read_bytes())


def _run(folder: Path) -> None:
    tables = json.loads(json.dumps(recipe_to(read_recipe("tiny"))))
    write_json(folder / "run.json", RunFile(recipe=tables, start=None))


def _read_run(folder: Path) -> Any:
    return recipe_from(read_run(folder / "run.json").recipe, "run.json")


LINES = ["one two", "셋", "", "four five six"]
JOB = {"model": "0123", "layers": "mix", "block_numbers": 9}


def _blocks(folder: Path) -> None:
    spool = BlockSpool(folder, JOB)
    for start in (0, 2):
        lines = LINES[start : start + 2]
        texts = [
            TokenVectors(tuple(line.split()), np.ones((len(line.split()), 3), np.float32), None)
            for line in lines
        ]
        spool.add(Block(lines, []), texts)


def _read_blocks(folder: Path) -> Any:
    spool = BlockSpool(folder, JOB)
    n_texts = list(spool.skip_finished(iter(LINES)))
    return n_texts, [(text.tokens, text.vectors.tobytes()) for text in spool.texts()]


CORPUS_FILES = ("manifest.json", "vocab.txt", "train-00000.shard")
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
    "word vectors": Reader(_vectors, _read_vectors, ("words.hdf5",)),
    **{f"texts .{kind}": _texts(f"a.{kind}", content) for kind, content in TEXTS.items()},
    **{
        f"texts {packing}": _texts(f"a.txt{packing}", pack(TEXTS["txt"]))
        for packing, pack in PACKERS.items()
        if packing
    },
    "corpus": Reader(_corpus, _read_corpus, CORPUS_FILES, CORPUS_FILES),
    "earlier corpus": Reader(_earlier_corpus, _read_corpus, CORPUS_FILES, CORPUS_FILES[1:]),
    "corpus without checksums": Reader(_corpus_without_checksums, _read_corpus, CORPUS_FILES),
    "checkpoint": Reader(
        _checkpoint, _read_checkpoint, ("last.safetensors",), ("last.safetensors",)
    ),
    "recipe": Reader(
        _recipe, lambda folder: read_recipe(str(folder / "mine.toml")), ("mine.toml",)
    ),
    "run": Reader(_run, _read_run, ("run.json",)),
    "blocks of embed": Reader(_blocks, _read_blocks, ("job.json", "000001.npz"), ("000001.npz",)),
    "texts .parquet": Reader(
        _parquet, lambda folder: list(read_texts([folder / "a.parquet"], "text")), ("a.parquet",)
    ),
}
