"""A corpus of any length in, one file of vectors out: flat memory, and nothing lost when killed.

The corpus is cut into blocks of texts. Each finished block is kept in a folder beside the output,
and at the end the blocks are written out as the one file that was asked for. A run that was killed
is started again with the same command: it checks the blocks that it finds against the corpus and
goes on behind them. Every block starts with an empty memory of words, so that its vectors do not
depend on where a run began, and the file is the same to the last byte.

Tokenizing, embedding and writing overlap, each in its own thread.
"""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from queue import Queue
from threading import Event, Thread
from typing import IO, Any

import numpy as np

from elmore.embed.elmo import Elmo
from elmore.embed.pooling import Layers, check_layers
from elmore.embed.results import DType, TokenVectors
from elmore.embed.writers import check_out, open_writer
from elmore.errors import ConfigError, DataError, FormatError
from elmore.text import split_sentences

_BLOCK_ARRAYS = ("n_lines", "digest", "lengths", "tokens", "vectors")
_MAX_BLOCK_TOKENS = 2**16  # what a kill may cost, however small the vectors
_BLOCKS_AHEAD = 2
_TOKENS_AT_ONCE = 4096  # where results are wanted as they come


@dataclass(frozen=True)
class CorpusOptions:
    """What is made of a corpus."""

    layers: Layers = "mix"
    """Which layers: see `Elmo.encode_tokens`."""
    dtype: DType = "float32"
    """What the numbers are stored in."""
    keep_sentence_marks: bool = False
    """Whether the marks have vectors too."""
    split_sentences: str | None = None
    """The language by whose rules each line is split into texts; None: a line is a text."""
    block_numbers: int = 2**24
    """Numbers in the vectors of a block: 64 MB as float32, some 65,000 tokens of 256."""


@dataclass(frozen=True)
class _Block:
    """Some lines, tokenized."""

    n_lines: int
    digest: str
    texts: list[tuple[str, ...]]


Progress = Callable[[int, int | None], None]
"""Is told how many more texts and tokens have been read; None tokens: by an earlier run."""


@dataclass(frozen=True)
class CorpusSize:
    """What a file of vectors holds."""

    n_texts: int
    n_tokens: int


def embed_lines(
    elmo: Elmo, lines: Iterable[str], options: CorpusOptions, progress: Progress
) -> Iterator[TokenVectors]:
    """Yield the vectors of the texts in `lines`, one after the other."""
    for block in _blocks(elmo, iter(lines), options, _TOKENS_AT_ONCE):
        yield from _embed(elmo, block, options, progress)


def embed_corpus(
    elmo: Elmo, lines: Iterable[str], out: Path, options: CorpusOptions, progress: Progress
) -> CorpusSize:
    """Write the vectors of the texts in `lines` to `out`, going on where a killed run stopped."""
    check_out(out)
    check_layers(options.layers, elmo.n_layers)
    spool = _Spool(spool_folder(out), elmo, options)
    iterator = iter(lines)
    n_layers = elmo.n_layers if options.layers == "all" else 1
    max_tokens = max(1, min(_MAX_BLOCK_TOKENS, options.block_numbers // (n_layers * elmo.dim)))
    try:
        for n_texts in spool.skip_finished(iterator):
            progress(n_texts, None)
        with ThreadPoolExecutor(1) as writer:
            writing: Future[None] | None = None
            for block in _ahead(_blocks(elmo, iterator, options, max_tokens)):
                elmo.cache.clear()
                vectors = _embed(elmo, block, options, progress)
                if writing is not None:
                    writing.result()
                writing = writer.submit(spool.add, block, vectors)
            if writing is not None:
                writing.result()
        with open_writer(out, n_layers, elmo.dim, options.dtype) as target:
            size = CorpusSize(0, 0)
            for text in spool.texts():
                target.write(size.n_texts, text)
                size = CorpusSize(size.n_texts + 1, size.n_tokens + len(text.tokens))
    except BaseException:
        if spool.is_empty():
            spool.remove()  # nothing to go on from
        raise
    spool.remove()
    return size


def spool_folder(out: Path) -> Path:
    """Return where the finished blocks of an unfinished file are."""
    return out.with_name(f"{out.name}.blocks")


def _blocks(
    elmo: Elmo, lines: Iterator[str], options: CorpusOptions, max_tokens: int
) -> Iterator[_Block]:
    """Tokenize lines until they have so many tokens, or are so many."""
    digest, n_lines, n_tokens = hashlib.sha256(), 0, 0
    texts: list[tuple[str, ...]] = []
    for line in lines:
        digest.update(_line_bytes(line))
        n_lines += 1
        for text in _texts(line, options.split_sentences):
            texts.append(tuple(token.text for token in elmo.tokenizer(text)))
            n_tokens += len(texts[-1])
        if n_tokens >= max_tokens or n_lines >= max_tokens:
            yield _Block(n_lines, digest.hexdigest(), texts)
            digest, n_lines, n_tokens, texts = hashlib.sha256(), 0, 0, []
    if n_lines:
        yield _Block(n_lines, digest.hexdigest(), texts)


def _texts(line: str, language: str | None) -> list[str]:
    if language is None:
        return [line]
    return [line[start:end] for start, end in split_sentences(line, language)]


def _line_bytes(line: str) -> bytes:
    return line.encode("utf-8", "surrogatepass") + b"\n"


def _embed(
    elmo: Elmo, block: _Block, options: CorpusOptions, progress: Progress
) -> list[TokenVectors]:
    return elmo._encode_tokens(
        block.texts,
        layers=options.layers,
        keep_sentence_marks=options.keep_sentence_marks,
        output="numpy",
        dtype=options.dtype,
        done=lambda n_tokens: progress(1, n_tokens),
    )


def _ahead(blocks: Iterator[_Block]) -> Iterator[_Block]:
    """Yield the same blocks, the next ones being made in another thread meanwhile."""
    made: Queue[_Block | BaseException | None] = Queue(_BLOCKS_AHEAD)
    left = Event()

    def make() -> None:
        last: BaseException | None = None
        try:
            for block in blocks:
                made.put(block)
                if left.is_set():
                    return
        except BaseException as error:
            last = error
        made.put(last)

    # A daemon, because it may be waiting for a line that never comes.
    Thread(target=make, daemon=True).start()
    try:
        while (block := made.get()) is not None:
            if isinstance(block, BaseException):
                raise block
            yield block
    finally:
        left.set()
        while not made.empty():  # let it go on, and so end
            made.get_nowait()


class _Spool:
    """The finished blocks of an unfinished file, in a folder beside it."""

    def __init__(self, folder: Path, elmo: Elmo, options: CorpusOptions) -> None:
        self.folder = folder
        self.n_blocks = 0
        self.job = folder / "job.json"
        job = {**elmo.fingerprint(), **asdict(options)}
        found = json.loads(self.job.read_bytes()) if self.job.exists() else {}
        others = [name for name in job if found.get(name) != job[name]]
        if others and (self.job.exists() or not self.is_empty()):
            raise ConfigError(
                f"{folder} holds the blocks of another run ({', '.join(others)}); "
                "remove it, or write to another file"
            )
        folder.mkdir(exist_ok=True)
        _write_whole(self.job, lambda file: file.write(json.dumps(job, indent=2).encode()))

    def skip_finished(self, lines: Iterator[str]) -> Iterator[int]:
        """Step over the lines of finished blocks; yield how many texts each had."""
        while (path := self._path(self.n_blocks)).exists():
            block = _read_block(path)
            n_lines, wanted = int(block["n_lines"]), str(block["digest"])
            digest = hashlib.sha256()
            for line in islice(lines, n_lines):
                digest.update(_line_bytes(line))
            if digest.hexdigest() != wanted:
                raise DataError(
                    f"{self.folder} was made from other text than this; "
                    "remove it, or give the text that it was begun with"
                )
            self.n_blocks += 1
            yield len(block["lengths"])

    def add(self, block: _Block, vectors: list[TokenVectors]) -> None:
        """Keep a block; once this returns, a kill does not cost it."""
        tokens = [token for text in vectors for token in text.tokens]
        arrays: dict[str, Any] = {
            "n_lines": np.array(block.n_lines),
            "digest": np.array(block.digest),
            "lengths": np.array([len(text.tokens) for text in vectors], dtype=np.int64),
            "tokens": np.frombuffer(json.dumps(tokens).encode(), dtype=np.uint8),
            "vectors": np.concatenate([text.vectors for text in vectors], axis=-2),
        }
        _write_whole(self._path(self.n_blocks), lambda file: np.savez(file, **arrays))
        self.n_blocks += 1

    def texts(self) -> Iterator[TokenVectors]:
        """Yield every text of every block."""
        for number in range(self.n_blocks):
            block = _read_block(self._path(number))
            tokens = json.loads(block["tokens"].tobytes())
            start = 0
            for length in block["lengths"].tolist():
                stop = start + length
                vectors = block["vectors"][..., start:stop, :]
                yield TokenVectors(tuple(tokens[start:stop]), vectors, None)
                start = stop

    def is_empty(self) -> bool:
        """Return whether no block was ever finished."""
        return not self._path(0).exists()

    def remove(self) -> None:
        """Remove the folder: the file is whole, or nothing was begun."""
        # The last block first and the job at the end: what a kill leaves is a shorter run.
        for path in sorted(self.folder.glob("*.npz"), reverse=True):
            path.unlink()
        shutil.rmtree(self.folder)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npz"


def _read_block(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as opened:
            return {name: opened[name] for name in _BLOCK_ARRAYS}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path} cannot be read ({error}); remove its folder") from None


def _write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file beside its place, see it to the disk, and rename it."""
    beside = path.with_name(f"{path.name}.part")
    with beside.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
