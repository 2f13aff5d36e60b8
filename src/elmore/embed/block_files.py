"""The finished blocks of an unfinished file, in a folder beside it; checked before use."""

import hashlib
import io
import json
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmore.embed.results import TokenVectors
from elmore.embed.texts import TokenizedText
from elmore.errors import DataError, FormatError
from elmore.folders import begin_job, new_file

FORMAT = "elmore-blocks-2"
JOB = "job.json"

_NOTHING = np.zeros((0, 0), dtype=np.float32)
_BLOCK_ARRAYS = ("n_lines", "digest", "lengths", "tokens", "vectors")
_UNREADABLE = (  # what zipfile and numpy raise for files that are damaged
    OSError, EOFError, LookupError, ValueError, TypeError, ArithmeticError, RuntimeError,
    SyntaxError, struct.error, zlib.error, zipfile.BadZipFile, tokenize.TokenError,
)  # fmt: skip


@dataclass(frozen=True)
class Block:
    """Some lines of a corpus and their texts, tokenized."""

    lines: list[str]
    texts: list[TokenizedText]


class BlockSpool:
    """The finished blocks of an unfinished file, in a folder beside it."""

    def __init__(self, folder: Path, job: Mapping[str, Any]) -> None:
        """Begin, or resume, the run that `job` describes; the folder must be locked."""
        self.folder = folder
        self.n_blocks = 0
        self.job = folder / JOB
        begin_job(self.job, {"format": FORMAT, **job})

    def skip_finished(self, lines: Iterator[str]) -> Iterator[int]:
        """Skip the lines of finished blocks; yield the number of texts of each."""
        while (path := self._path(self.n_blocks)).exists():
            block = _read_block(path)
            if _digest(islice(lines, block.n_lines)) != block.digest:
                raise DataError(
                    f"{self.folder} was made from other text than this; "
                    "remove it, or give the text that it was begun with"
                )
            self.n_blocks += 1
            yield len(block.lengths)

    def add(self, block: Block, vectors: list[TokenVectors]) -> None:
        """Save a block; once this returns, a kill does not lose it."""
        tokens = [token for text in vectors for token in text.tokens]
        arrays: dict[str, Any] = {
            "n_lines": np.array(len(block.lines)),
            "digest": np.array(_digest(block.lines)),
            "lengths": np.array([len(text.tokens) for text in vectors], dtype=np.int64),
            "tokens": np.frombuffer(json.dumps(tokens).encode(), dtype=np.uint8),
            "vectors": np.concatenate([text.vectors for text in vectors] or [_NOTHING], axis=-2),
        }
        with new_file(self._path(self.n_blocks)) as beside, beside.open("wb") as file:
            np.savez(file, **arrays)
        self.n_blocks += 1

    def texts(self) -> Iterator[TokenVectors]:
        """Yield the texts of all blocks."""
        for number in range(self.n_blocks):
            block = _read_block(self._path(number))
            start = 0
            for length in block.lengths:
                stop = start + length
                vectors = block.vectors[..., start:stop, :]
                yield TokenVectors(tuple(block.tokens[start:stop]), vectors, None)
                start = stop

    def is_empty(self) -> bool:
        """Return whether no block is finished."""
        return not self._path(0).exists()

    def remove(self) -> None:
        """Remove the files of the spool: the output is complete, or nothing was begun."""
        # The last block first, the job at the end: a kill in between leaves a valid, shorter spool.
        for number in reversed(range(self.n_blocks)):
            self._path(number).unlink()
        self.job.unlink()

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.npz"


class _SavedBlock(NamedTuple):
    """What a block's file holds."""

    n_lines: int
    digest: str
    lengths: list[int]
    tokens: list[str]
    vectors: npt.NDArray[np.floating[Any]]


def _read_block(path: Path) -> _SavedBlock:
    try:
        with zipfile.ZipFile(path) as archive:
            n_lines, digest, lengths, tokens, vectors = (
                _read_array(archive, f"{name}.npy", path.stat().st_size) for name in _BLOCK_ARRAYS
            )
        block = _SavedBlock(
            int(n_lines), str(digest), lengths.tolist(), json.loads(tokens.tobytes()), vectors
        )
        n_tokens = len(block.tokens)
        if sum(block.lengths) != n_tokens or block.vectors.shape[-2] != n_tokens:
            raise ValueError("it has more or fewer vectors than tokens")
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise FormatError(
            f"{path} is damaged ({reason}); remove its folder to begin again"
        ) from None
    return block


def _read_array(archive: zipfile.ZipFile, name: str, max_bytes: int) -> npt.NDArray[Any]:
    """Read an array of an archive, whose checksum (CRC-32) must match, into as much memory."""
    entry = archive.getinfo(name)
    if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > max_bytes:
        raise ValueError(f"{name} is not as it was written")
    content = archive.read(entry)
    header = io.BytesIO(content)
    np.lib.format.read_magic(header)
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(header)
    values = np.frombuffer(content, dtype, offset=header.tell())
    return values.reshape(shape, order="F" if is_fortran else "C")


def _digest(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        content = line.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()
