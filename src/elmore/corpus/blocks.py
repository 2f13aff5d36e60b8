"""Files of text in, numbered blocks out: the unit of work for many processes or machines.

A block is a range of a file, cut by content alone, so that it is the same whoever plans it and
however many workers there are. What its `start` and `end` count depends on the file:

| unit | file | how a block is reached |
|---|---|---|
| bytes | text or JSON Lines | by seeking |
| frames | the same in a .zst of many frames, each of which says its size | by seeking |
| stream | the same in any other compression; decompressed bytes | by decompressing what is before |
| records | .csv, .tsv, .parquet | by reading the records before |

Cuts do not look for line ends. A block has the lines that begin in it after its first byte, and
the first block of a file also its first line; so it ends with the line that its end falls into, and
a line that begins at the very end is its last.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import IO, Annotated, Literal

import xxhash
from msgspec import Meta, Struct

from elmore.checks import at_least
from elmore.corpus.compression import (
    decompressed_name,
    finding_damage,
    open_decompressed,
    open_zstd,
)
from elmore.corpus.files import STANDARD_INPUT, check_texts, name_of, read_fields, text_of
from elmore.corpus.lines import MAX_LINE_BYTES, decode_lines, limited_lines
from elmore.corpus.records import parse_json_line, record_format
from elmore.corpus.zstd_frames import find_frames
from elmore.errors import DataError
from elmore.stores import AnyPath
from elmore.versions import Version, open_file, unchanged, version_of

BLOCK_BYTES = 2**20
"""Of text in a block: some 180,000 English tokens, which take 25 s at 7,000 tokens/s."""

Unit = Literal["bytes", "frames", "stream", "records"]
Position = Annotated[int, Meta(ge=0, le=2**60)]

_MAX_FRAME_BLOCKS = 16  # a frame of more text than so many blocks is read as a stream
_BYTES_AT_ONCE = 2**20


class CorpusFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of a corpus, as a manifest says it."""

    name: str
    size: Position
    unit: Unit
    """What the positions of its blocks count."""


class Block(Struct, frozen=True, array_like=True):
    """A range of a file: [file, start, end] in a manifest."""

    file: Annotated[int, Meta(ge=0, le=2**31)]
    """The number of the file in its corpus."""
    start: Position
    end: Position


@dataclass(frozen=True)
class BlockPlan:
    """A corpus cut into blocks."""

    paths: tuple[AnyPath, ...]
    versions: tuple[Version | None, ...]
    """In which the files were cut, and must be read."""
    files: tuple[CorpusFile, ...]
    blocks: tuple[Block, ...]
    text_field: str
    """The field of the text in files of records."""
    max_line_bytes: int
    """The longest line that is not refused."""


def plan_blocks(
    paths: Sequence[AnyPath],
    *,
    text_field: str = "text",
    block_bytes: int = BLOCK_BYTES,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> BlockPlan:
    """Cut files into blocks of about `block_bytes` of text; each file has at least one."""
    at_least(1, block_bytes=block_bytes)
    if not paths:
        raise DataError("there is no text; name the files of the corpus")
    if STANDARD_INPUT in paths:
        raise DataError("standard input cannot be cut into blocks; name a file")
    check_texts(paths)
    versions: list[Version | None] = []
    files: list[CorpusFile] = []
    blocks: list[Block] = []
    for number, path in enumerate(paths):
        if not path.is_file():
            raise DataError(f"{path} is no regular file, so it cannot be cut into blocks; save it")
        version = version_of(path)
        size = version.size if version else 0
        with unchanged({path: version}):
            unit, cuts = _cut(path, size, text_field, block_bytes, max_line_bytes)
        versions.append(version)
        files.append(CorpusFile(name_of(path), size, unit))
        blocks += [Block(number, start, end) for start, end in pairwise(cuts)]
    return BlockPlan(
        tuple(paths), tuple(versions), tuple(files), tuple(blocks), text_field, max_line_bytes
    )


def _cut(
    path: AnyPath, size: int, field: str, block_bytes: int, max_line_bytes: int
) -> tuple[Unit, list[int]]:
    """Return the unit of a file, and where its blocks begin and the last one ends."""
    if record_format(path) not in (None, "jsonl"):
        return "records", _cut_records(path, field, block_bytes, max_line_bytes)
    if decompressed_name(path) == path.name:
        with open_decompressed(path):  # which refuses what is no text
            return "bytes", _cut_evenly(size, block_bytes)
    if path.suffix.lower() == ".zst" and size:
        with open_file(path) as file:
            frames = find_frames(file, size)
        most = _MAX_FRAME_BLOCKS * block_bytes
        if frames and len(frames) > 1 and max(frame.n_bytes for frame in frames) <= most:
            cuts, n_bytes = [0], 0
            for frame in frames:
                n_bytes += frame.n_bytes
                if n_bytes >= block_bytes or frame.end == size:
                    cuts.append(frame.end)
                    n_bytes = 0
            return "frames", cuts
    n_bytes = 0
    with open_decompressed(path) as file:
        while some := file.read(_BYTES_AT_ONCE):
            n_bytes += len(some)
    return "stream", _cut_evenly(n_bytes, block_bytes)


def _cut_evenly(size: int, block_bytes: int) -> list[int]:
    return [*range(0, max(size, 1), block_bytes), size]


def _cut_records(path: AnyPath, field: str, block_bytes: int, max_line_bytes: int) -> list[int]:
    cuts, n_records, n_bytes = [0], 0, 0
    records = read_fields(path, [field], max_line_bytes=max_line_bytes)
    for n_records, (text,) in enumerate(records, start=1):
        n_bytes += len(text.encode("utf-8"))
        if n_bytes >= block_bytes:
            cuts.append(n_records)
            n_bytes = 0
    return cuts if cuts[-1] == n_records and n_records else [*cuts, n_records]


def text_checksum(texts: Sequence[str]) -> str:
    """Return a checksum of the texts of a block (XXH3, 128 bits)."""
    digest = xxhash.xxh3_128()
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()


class BlockReader:
    """Reads the texts of blocks.

    A stream stays open after a block, so that the blocks of a file in order read it once.
    """

    def __init__(self, plan: BlockPlan) -> None:
        self.plan = plan
        self._stream: _Stream | _Records | None = None

    def read(self, number: int) -> list[str]:
        """Return the texts of a block: its lines, also blank ones, or this field of its records."""
        block = self.plan.blocks[number]
        path, version = self.plan.paths[block.file], self.plan.versions[block.file]
        with unchanged({path: version}):
            return self._read(block, path, self.plan.files[block.file].unit)

    def _read(self, block: Block, path: AnyPath, unit: Unit) -> list[str]:
        if unit == "records":
            return self._records(path).read(block)
        if unit == "stream":
            content = self._lines(path).read(block)
        else:
            with finding_damage(path), open_file(path) as file:
                content = _read_range(file, block, unit, self._line_of(path))
        where = str(path)  # lines are counted from the start of the block
        if block.start:
            where += f", {unit} {block.start:,} to {block.end:,},"
        lines = decode_lines(
            io.BytesIO(content),
            where,
            max_line_bytes=self.plan.max_line_bytes,
            is_start=block.start == 0,
        )
        if record_format(path) is None:
            return list(lines)
        field = self.plan.text_field
        return [
            text_of(parse_json_line(line, f"{where} line {n}"), field, f"{where} line {n}")
            for n, line in enumerate(lines, start=1)
            if line.strip()
        ]

    def _lines(self, path: AnyPath) -> "_Stream":
        if not isinstance(self._stream, _Stream) or self._stream.path != path:
            self._stream = _Stream(path, self._line_of(path))
        return self._stream

    def _records(self, path: AnyPath) -> "_Records":
        if not isinstance(self._stream, _Records) or self._stream.path != path:
            self._stream = _Records(path, self.plan.text_field, self.plan.max_line_bytes)
        return self._stream

    def _line_of(self, path: AnyPath) -> "ReadLine":
        """Return what reads a line of a file, unless it is too long."""

        def read_line(readline: Callable[[int], bytes]) -> bytes:
            lines = limited_lines(readline, str(path), self.plan.max_line_bytes)
            return next(lines, b"")

        return read_line


ReadLine = Callable[[Callable[[int], bytes]], bytes]


def _owned_lines(content: bytes, next_line: Callable[[], bytes], *, is_first: bool) -> bytes:
    """Return the lines of a block, from its bytes and what follows them up to a line end."""
    first = 0 if is_first else content.find(b"\n") + 1
    if not is_first and first == 0:
        return b""  # all of it is in a line that began before
    return content[first:] + next_line()


def _read_range(file: IO[bytes], block: Block, unit: Unit, read_line: ReadLine) -> bytes:
    file.seek(block.start)
    content = file.read(block.end - block.start)
    following = file
    if unit == "frames":
        content, following = open_zstd(io.BytesIO(content)).read(), open_zstd(file)
    return _owned_lines(content, lambda: read_line(following.readline), is_first=block.start == 0)


class _Stream:
    """A compressed file that is read from its start to its end."""

    def __init__(self, path: AnyPath, read_line: ReadLine) -> None:
        self.path, self._read_line = path, read_line
        self._open()

    def _open(self) -> None:
        self._stack = ExitStack()
        self._file = self._stack.enter_context(open_decompressed(self.path))
        self._position = 0
        self._ahead = b""  # read behind the last block, for the end of its last line

    def __del__(self) -> None:
        with suppress(Exception):  # an exit of the interpreter has closed it
            self._stack.close()

    def read(self, block: Block) -> bytes:
        """Return the lines of a block."""
        if block.start < self._position:
            self._stack.close()
            self._open()
        with finding_damage(self.path):
            while (left := block.start - self._position) > 0:
                if not self._take(min(left, _BYTES_AT_ONCE)):
                    break
            content = self._take(block.end - block.start)
            return _owned_lines(content, self._next_line, is_first=block.start == 0)

    def _take(self, n_bytes: int) -> bytes:
        taken, self._ahead = self._ahead[:n_bytes], self._ahead[n_bytes:]
        while len(taken) < n_bytes and (some := self._file.read(n_bytes - len(taken))):
            taken += some
        self._position += len(taken)
        return taken

    def _next_line(self) -> bytes:
        """Return what is left of a line, which the next block reads again."""
        end = self._ahead.find(b"\n") + 1
        if not end:
            self._ahead += self._read_line(self._file.readline)
            end = len(self._ahead)
        return self._ahead[:end]


class _Records:
    """A file of records that is read from its start to its end."""

    def __init__(self, path: AnyPath, field: str, max_line_bytes: int) -> None:
        self.path, self._field, self._max_line_bytes = path, field, max_line_bytes
        self._open()

    def _open(self) -> None:
        records = read_fields(self.path, [self._field], max_line_bytes=self._max_line_bytes)
        self._texts: Iterator[str] = (text for (text,) in records)
        self._position = 0

    def read(self, block: Block) -> list[str]:
        """Return the texts of a block."""
        if block.start < self._position:
            self._open()
        texts = islice(self._texts, block.start - self._position, block.end - self._position)
        found = list(texts)
        self._position = block.end
        return found
