"""The readers of embedded corpora: folders of parts, finished or not, and exported vectors."""

import shutil
from pathlib import Path
from typing import Any

from elmore.embed import CorpusOptions, embed_corpus
from elmore.embed.block_job import BlockJob
from elmore.embed.parts import EmbedJob
from elmore.embed.vector_parts import VectorParts
from elmore.integrations.vector_stores import open_stream
from elmore.senses.index_file import IndexConfig
from elmore.senses.parts import IndexJob
from tests.fuzz.reader import Reader, small_elmo

LINES = "bank river 은행\n\nriver of the bank\na bank\n" * 5
BLOCK_BYTES = 100


def _begin(folder: Path, kind: str) -> BlockJob:
    text = folder.with_name("text.txt")
    text.write_text(LINES, encoding="utf-8")
    if kind == "index":
        config = IndexConfig((0, "expected"))
        return IndexJob.begin(small_elmo(), [text], folder, config, block_bytes=BLOCK_BYTES)
    options = CorpusOptions(block_numbers=100)
    return EmbedJob.begin(small_elmo(), [text], folder, options, block_bytes=BLOCK_BYTES)


def _embed(folder: Path) -> None:
    job = _begin(folder, "vectors")
    for number in range(job.n_blocks):
        job.run(number)
    job.finish()


def _read_vectors(folder: Path) -> Any:
    parts = VectorParts.load(folder)
    texts = [(one.tokens, one.vectors.tobytes()) for one in parts]
    return parts.n_texts, parts.n_tokens, texts


def _read_stream(source: Path) -> Any:
    stream = open_stream(source)
    return stream.n_rows, [batch.to_pydict() for batch in stream.batches()]


def _begin_some(folder: Path, kind: str) -> None:
    job = _begin(folder, kind)
    for number in (0, 1):
        job.run(number)
    assert job.n_blocks > 2


def _resume(folder: Path, kind: str) -> Any:
    """Resume a copy, and compare all that is made."""
    made = folder.with_name("resumed") / folder.name
    shutil.rmtree(made.parent, ignore_errors=True)
    shutil.copytree(folder, made)
    job = _begin(made, kind)
    for number in range(job.n_blocks):
        job.run(number)
    job.finish()
    return {path.name: path.read_bytes() for path in made.iterdir() if path.is_file()}


def _embed_file(folder: Path) -> None:
    lines = LINES.splitlines()
    options = CorpusOptions()
    embed_corpus(small_elmo(), lines, folder / "a.parquet", options, lambda *_: None)


VECTOR_FILES = ("_manifest.json", "part-00000.parquet", "part-00001.parquet")
UNFINISHED_FILES = ("_manifest.json", "_parts/part-00000.json", "part-00000.parquet")
UNFINISHED_INDEX_FILES = ("_manifest.json", "_parts/part-00000.json")
PARTS_READERS: dict[str, Reader] = {
    "parts of vectors": Reader(_embed, _read_vectors, VECTOR_FILES, VECTOR_FILES),
    "parts, exported": Reader(_embed, _read_stream, VECTOR_FILES, VECTOR_FILES),
    "parts unfinished": Reader(
        lambda folder: _begin_some(folder, "vectors"),
        lambda folder: _resume(folder, "vectors"),
        UNFINISHED_FILES,
        UNFINISHED_FILES,
    ),
    "parts of an index unfinished": Reader(
        lambda folder: _begin_some(folder, "index"),
        lambda folder: _resume(folder, "index"),
        UNFINISHED_INDEX_FILES,
        UNFINISHED_INDEX_FILES,
    ),
    "vectors .parquet": Reader(
        _embed_file, lambda folder: _read_stream(folder / "a.parquet"), ("a.parquet",)
    ),
}
