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
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from elmore import Elmo, StaticVectors
from elmore.corpus.config import CorpusConfig
from elmore.corpus.files import fingerprint, read_texts
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus
from elmore.embed.block_files import Block, BlockSpool
from elmore.embed.results import TokenVectors
from elmore.folders import write_json
from elmore.formats import (
    read_pretrained,
    read_word_vectors,
    write_bilm_tf,
    write_native,
    write_word_vectors,
)
from elmore.metadata import convert_metadata
from elmore.pretrain.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from elmore.pretrain.recipes import (
    RunFile,
    bundled_recipes,
    read_recipe,
    read_run,
    recipe_from,
    recipe_to,
)
from elmore.pretrain.trainer import LastFacts
from elmore.senses.build import build_index
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from elmore.senses.search import Search, nearest_of
from elmore.tasks import (
    Classifier,
    Coreferencer,
    Examples,
    QuestionAnswerer,
    Tagger,
    read_documents,
    read_labelled,
    read_pairs,
    read_questions,
    read_tagged,
)
from elmore.tasks.estimator import TaskModel
from elmore.text import Vocab
from tests.fuzz.parts_readers import PARTS_READERS
from tests.fuzz.reader import WORDS, Reader, small_elmo, small_model

MANY_LANGS = Path(__file__).resolve().parents[1] / "formats/many_langs"


def _facts(folder: Path) -> Any:
    model = read_pretrained(folder)
    for name, array in model.arrays.items():
        assert np.isfinite(array).all(), f"{name} is not finite"
    calibration = model.calibration and model.calibration.fingerprint()
    return model.fingerprint(), model.tokenizer, model.normalization, calibration


def _without_checksums(folder: Path) -> None:
    write_native(small_model(table=True), folder)
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


def _index(folder: Path) -> None:
    lines = ["bank river 은행", "river of the bank", "a bank"]
    config = IndexConfig((0, "expected"))
    build_index(small_elmo(), lines, folder, config, source=[{"name": "a.txt"}])


def _old_index(folder: Path) -> None:
    _index(folder)
    _drop_checksums(folder / "index.json")
    (folder / "checksums.u64").unlink()


def _drop_checksums(path: Path) -> None:
    said = json.loads(path.read_text())
    said.pop("files"), said.pop("checksum")
    path.write_text(json.dumps(said))


def _read_index(folder: Path) -> Any:
    index = OccurrenceIndex.load(folder)
    rows = range(min(len(index), 50))
    found = [index.occurrence(row) for row in rows]
    near = [
        nearest_of(index.vectors(layer), np.ones(index.vectors(layer).shape[1], np.float32), 5)
        for layer in index.layers
    ]
    cosines = [(one.rows.tolist(), one.cosines.tolist()) for one in near]
    words = [index.rows(word).tolist() for word in index.words[:50]]
    return found, cosines, words, index.model, index.content.config


def _unfinished(folder: Path) -> None:
    def cut() -> Any:
        for k in range(300):
            yield f"bank river {k}"
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        build_index(small_elmo(), cut(), folder, IndexConfig((0,)), source=[{"name": "a.txt"}])


def _resume(folder: Path) -> Any:
    """Resume a copy, and compare all that is built."""
    made = folder.with_name("resumed")
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(folder, made)
    lines = [f"bank river {k}" for k in range(300)]
    build_index(small_elmo(), lines, made, IndexConfig((0,)), source=[{"name": "a.txt"}])
    return {path.name: path.read_bytes() for path in sorted(made.iterdir())}


def _search(folder: Path) -> None:
    lines = [f"bank {k % 7} river {k % 11} money {k % 5} boat" for k in range(200)]
    build_index(small_elmo(), lines, folder, IndexConfig((0,)), source=[{"name": "a.txt"}])
    _read_search(folder)


def _read_search(folder: Path) -> Any:
    with patch("elmore.senses.search.MOST_EXACT", 100):
        search = Search.load(OccurrenceIndex.load(folder), 0)
        found = search.nearest(np.ones(6, np.float32), 5)
    return found.rows.tolist(), found.cosines.tolist(), search.quality


TASKS: dict[str, tuple[type[TaskModel], Any, Any]] = {
    "classify": (Classifier, ["bank", "river"] * 4, ["yes", "no"] * 4),
    "tag": (Tagger, [["the", "bank"], ["river"]] * 4, [["O", "B-X"], ["O"]] * 4),
    "answer": (QuestionAnswerer, [("where", "the river bank")] * 4, ["bank"] * 4),
    "coref": (
        Coreferencer,
        [[["the", "bank"], ["it"]]] * 4,
        [[[(0, 2), (2, 3)]]] * 4,
    ),
}


def _task(folder: Path, task: str, *, checksums: bool = True) -> None:
    write_native(small_model(table=True), folder / "elmo")
    cls, X, y = TASKS[task]
    small: dict[str, Any] = {"hidden_dim": 3, "n_epochs": 1, "tokenizer": "whitespace"}
    made = cls(str(folder / "elmo"), **small).fit(X, y, dev=(X, y))
    made.save(folder / "task")
    for path in (folder / "task").iterdir():
        path.rename(folder / path.name)
    if not checksums:
        _drop_checksums(folder / "config.json")


_load_elmo_once = cache(Elmo.from_pretrained)  # the folder of the biLM is not damaged


def _read_task(folder: Path, task: str) -> Any:
    cls, X, _ = TASKS[task]
    with patch.object(Elmo, "from_pretrained", _load_elmo_once):
        found: Any = cls.load(folder)
    answers = found.predict_proba(X) if hasattr(found, "predict_proba") else found.predict(X)
    scores = [getattr(one, "tolist", lambda one=one: one)() for one in answers]
    return scores, found.task_.answers.labels


def _task_reader(task: str, *, checksums: bool) -> Reader:
    files = ("config.json", "model.safetensors")
    return Reader(
        lambda folder: _task(folder, task, checksums=checksums),
        lambda folder: _read_task(folder, task),
        files,
        files if checksums else (),
    )


def _fit_checkpoint(folder: Path) -> None:
    cls, X, y = TASKS["classify"]
    write_native(small_model(table=True), folder / "elmo")
    small: dict[str, Any] = {"hidden_dim": 3, "n_epochs": 2, "tokenizer": "whitespace"}
    cls(str(folder / "elmo"), **small).fit(X, y, dev=(X, y), folder=folder / "run")
    (folder / "run/last.safetensors").rename(folder / "last.safetensors")
    (folder / "run/run.json").rename(folder / "run.json")


def _resume_fit(folder: Path) -> Any:
    cls, X, y = TASKS["classify"]
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    for name in ("last.safetensors", "run.json"):
        shutil.copy(folder / name, run / name)
    small: dict[str, Any] = {"hidden_dim": 3, "n_epochs": 2, "tokenizer": "whitespace"}
    with patch.object(Elmo, "from_pretrained", _load_elmo_once):
        made = cls(str(folder / "elmo"), **small).fit(X, y, dev=(X, y), folder=run)
    return [one.tolist() for one in made.network_.state_dict().values()], made.progress_


@cache
def _component() -> Any:
    from elmore.integrations.spacy import DocEncoder, ElmoComponent

    folder = Path(tempfile.mkdtemp())
    write_native(small_model(table=True), folder / "elmo")
    return ElmoComponent(DocEncoder(str(folder / "elmo"), "mix"), "elmore")


def _spacy(folder: Path) -> None:
    _component().to_disk(folder / "elmore")


def _read_spacy(folder: Path) -> str:
    return str(_component().from_disk(folder / "elmore").encoder.hash)


STATIC = StaticVectors(WORDS, np.linspace(-1, 1, 24, dtype=np.float32).reshape(6, 4))


def _static_binary(folder: Path) -> None:
    rows = [
        f"{word} ".encode() + row.tobytes() for word, row in zip(WORDS, STATIC.vectors, strict=True)
    ]
    (folder / "a.bin").write_bytes(b"6 4\n" + b"\n".join(rows) + b"\n")


def _static_glove(folder: Path) -> None:
    STATIC.write_text(folder / "a.txt")
    (folder / "a.txt").write_text((folder / "a.txt").read_text().partition("\n")[2])


def _static_folder(folder: Path, *, checksums: bool) -> None:
    STATIC.save(folder)
    if not checksums:
        _drop_checksums(folder / "config.json")


def _read_static(path: Path) -> Any:
    found = StaticVectors.load(path)
    return found.fingerprint(), found.encode(WORDS).tolist()


def _static_reader(name: str, make: Callable[[Path], None]) -> Reader:
    return Reader(make, lambda folder: _read_static(folder / name), (name,))


STATIC_FILES = ("config.json", "vocab.txt", "vectors.npy")

SQUAD = (
    b'{"version": "v2.0", "data": [{"title": "a", "paragraphs": [{"context": "the bank", "qas": ['
    b'{"id": "1", "question": "what?", "answers": [{"text": "bank", "answer_start": 4}]}, '
    b'{"id": "2", "question": "who?", "answers": [], "is_impossible": true}]}]}]}'
)
COREF = (
    b"#begin document (bn/a); part 000\n"
    b"bn/a\t0\t0\tthe\t-\t-\t-\t-\t-\tkim\t*\t(0\nbn/a\t0\t1\tbank\t-\t-\t-\t-\t-\tkim\t*\t0)\n\n"
    b"bn/a\t0\t0\tit\t-\t-\t-\t-\t-\tlee\t*\t(0)|(1)\n\n#end document\n"
)
EXAMPLES: dict[str, tuple[Callable[..., Examples], bytes]] = {
    "a.tsv": (read_labelled, b"text\tlabel\n" + b"good film\tyes\nbad\tno\n" * 10),
    "a.jsonl": (read_labelled, b'{"text": "good", "label": "yes"}\n' * 10),
    "a.conll": (read_tagged, b"the O\nbank B-X\n\nriver O\n\n" * 10),
    "a.conllu": (read_tagged, b"1\tthe\tthe\tDET\t_\t_\t0\t_\t_\t_\n\n" * 10),
    "pairs.csv": (read_pairs, b"sentence1,sentence2,label\n" + b'a,"b, c",yes\n' * 10),
    "squad.json": (read_questions, SQUAD),
    "coref.conll": (read_documents, COREF),
    "a.lines": (partial(read_labelled, format="lines"), b"yes good film\nno bad one\n" * 10),
    "a.srl": (partial(read_tagged, format="srl"), b"he - B-A0\nsat sit B-V\n\n" * 10),
}


def _examples_reader(name: str) -> Reader:
    read, content = EXAMPLES[name]
    return Reader(
        lambda folder: (folder / name).write_bytes(content) and None,
        lambda folder: read(folder / name),
        (name,),
    )


INDEX_DATA = (
    "vectors-0.f16", "vectors-expected.f16", "occurrences.i32", "sentences.txt", "sentences.i64",
    "words.txt",
)  # fmt: skip
INDEX_FILES = ("index.json", *INDEX_DATA, "checksums.u64")


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
        "best_update": None,
        "metrics_length": 100, "seconds": 1.5,
    }  # fmt: skip
    draw = np.random.default_rng(1).standard_normal
    arrays = {"bilm.w": draw((3, 4)), "state.h": draw((2, 5)), "n": np.arange(3)}
    write_checkpoint(folder / "last.safetensors", Checkpoint(arrays, facts))


def _read_checkpoint(folder: Path) -> Any:
    path = folder / "last.safetensors"
    found = read_checkpoint(path)
    arrays = {name: array.tobytes() for name, array in found.arrays.items()}
    return arrays, convert_metadata(found.facts, LastFacts, path)


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
        lambda folder: write_native(small_model(table=False), folder),
        _facts,
        MODEL_FILES,
        MODEL_FILES[1:],
    ),
    "model without checksums": Reader(_without_checksums, _facts, MODEL_FILES),
    "published": Reader(
        lambda folder: write_bilm_tf(small_model(table=False), folder),
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
    "index": Reader(_index, _read_index, INDEX_FILES, INDEX_FILES),
    "index without checksums": Reader(_old_index, _read_index, INDEX_FILES[:-1]),
    "index unfinished": Reader(
        _unfinished,
        _resume,
        ("index.json", "vectors-0.f16", "occurrences.i32", "words.txt"),
        ("index.json", "vectors-0.f16", "occurrences.i32", "words.txt"),
    ),
    "search": Reader(
        _search, _read_search, ("search-0.json", "search-0.faiss"), ("search-0.faiss",)
    ),
    "task classify": _task_reader("classify", checksums=True),
    "task tag": _task_reader("tag", checksums=True),
    "task answer": _task_reader("answer", checksums=True),
    "task coref": _task_reader("coref", checksums=True),
    "task classify without checksums": _task_reader("classify", checksums=False),
    "task tag without checksums": _task_reader("tag", checksums=False),
    "task checkpoint": Reader(_fit_checkpoint, _resume_fit, ("last.safetensors", "run.json")),
    "static text": _static_reader("a.txt", lambda folder: STATIC.write_text(folder / "a.txt")),
    "static glove": _static_reader("a.txt", _static_glove),
    "static binary": _static_reader("a.bin", _static_binary),
    "static folder": Reader(
        lambda folder: _static_folder(folder, checksums=True),
        _read_static,
        STATIC_FILES,
        STATIC_FILES,
    ),
    "static folder without checksums": Reader(
        lambda folder: _static_folder(folder, checksums=False), _read_static, STATIC_FILES
    ),
    **{f"examples {name}": _examples_reader(name) for name in EXAMPLES},
    **PARTS_READERS,
    "spaCy component": Reader(_spacy, _read_spacy, ("elmore",), ("elmore",)),
}
