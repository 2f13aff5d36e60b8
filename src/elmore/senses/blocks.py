"""Files that grow in, their checksums out, one for each block; rows that are verified as read.

An index may be larger than memory, so it is not verified as a whole when it is loaded: each block
of a file is, when a row of it is first read. Blocks of 256 KiB take 0.03 ms each.
"""

from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import xxhash

from elmore.checksums import FileRecord
from elmore.errors import FormatError

BLOCK_BYTES = 2**18
FIX = "copy the index again, or remove it and build it again"

Checksums = npt.NDArray[np.uint64]
"""XXH3, 64 bits, of each block of a file."""


class GrowingFile:
    """A file that is appended to, with its checksum and those of its blocks."""

    def __init__(self, path: Path, size: int, expected: FileRecord | None) -> None:
        self.path = path
        self._whole, self._block = xxhash.xxh3_128(), xxhash.xxh3_64()
        self._blocks: list[int] = []
        self.size = 0
        if path.is_symlink():
            raise FormatError(f"{path} is a symbolic link, which a build does not follow; {FIX}")
        with path.open("ab") as file:
            found = file.tell()
            if found < size:
                raise FormatError(
                    f"{path} is damaged: it has {found:,} bytes, expected {size:,}; {FIX}"
                )
            file.truncate(size)  # what a killed build left behind the last whole block
        with path.open("rb") as file:
            while content := file.read(BLOCK_BYTES):
                self._update(content)
        if expected is not None and self.record() != expected:
            raise FormatError(f"{path} is damaged: its checksum does not match; {FIX}")
        self.file: IO[bytes] = path.open("ab")

    def write(self, content: bytes) -> None:
        """Append bytes."""
        self.file.write(content)
        self._update(content)

    def record(self) -> FileRecord:
        """Return what metadata is to say of the file now."""
        return FileRecord(self.size, self._whole.hexdigest())

    def checksums(self) -> Checksums:
        """Return the checksum of each block, the last one also where it is not full."""
        last = [self._block.intdigest()] * (self.size % BLOCK_BYTES > 0)
        return np.array([*self._blocks, *last], np.uint64)

    def _update(self, content: bytes) -> None:
        self._whole.update(content)
        view = memoryview(content)
        while view:
            part = view[: BLOCK_BYTES - self.size % BLOCK_BYTES]
            self._block.update(part)
            self.size += len(part)
            if self.size % BLOCK_BYTES == 0:
                self._blocks.append(self._block.intdigest())
                self._block.reset()
            view = view[len(part) :]


class CheckedRows:
    """The rows of a file, memory-mapped: an array that verifies each block when it is first read.

    Without checksums (indexes of earlier versions), floating-point values must be finite.
    """

    def __init__(
        self, path: Path, dtype: str, shape: tuple[int, ...], checksums: Checksums | None
    ) -> None:
        self._path, self._checksums = path, checksums
        self._rows: npt.NDArray[Any] = np.memmap(path, dtype, "r", shape=shape)
        self._bytes = self._rows.reshape(-1).view(np.uint8)
        self._row_bytes = self._bytes.size // len(self._rows)
        self._unread = np.ones(-(-self._bytes.size // BLOCK_BYTES), bool)
        self._n_unread = len(self._unread)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all rows."""
        return self._rows.shape

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: int | slice | npt.NDArray[np.int64]) -> Any:
        if self._n_unread:
            if isinstance(rows, slice):
                start, stop, _ = rows.indices(len(self))
                self._verify(np.array([start]), np.array([stop]))
            else:
                places = np.atleast_1d(np.asarray(rows, np.int64))
                self._verify(places, places + 1)
        return self._rows[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self[:], dtype) if copy else np.asarray(self[:], dtype)

    def _verify(self, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> None:
        """Verify the blocks of some ranges of rows that were not read before."""
        some = stops > starts
        first = starts[some] * self._row_bytes // BLOCK_BYTES
        last = (stops[some] * self._row_bytes - 1) // BLOCK_BYTES
        marks = np.zeros(len(self._unread) + 1, np.int64)
        np.add.at(marks, first, 1)
        np.add.at(marks, last + 1, -1)
        for number in np.flatnonzero((np.cumsum(marks[:-1]) > 0) & self._unread):
            block = self._bytes[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES]
            if self._checksums is not None:
                is_whole = xxhash.xxh3_64_intdigest(block.data) == int(self._checksums[number])
            else:
                floats = self._rows.dtype.kind == "f"
                is_whole = not floats or bool(np.isfinite(block.view(self._rows.dtype)).all())
            if not is_whole:
                at = f"{number * BLOCK_BYTES:,} to {number * BLOCK_BYTES + block.size:,}"
                raise FormatError(f"{self._path} is damaged, in bytes {at}; {FIX}")
            self._unread[number] = False
            self._n_unread -= 1
