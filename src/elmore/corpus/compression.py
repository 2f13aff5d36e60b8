"""Packed files in, their bytes out: gzip, bzip2, xz, Zstandard, or a zip with one file in it.

What a file is packed with is told by its name. A damaged file, or one that was cut short, is an
error and never a shorter content.
"""

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from elmore.errors import DataError, MissingExtraError

_BYTES_AT_ONCE = 2**16
_ZSTD_BYTES_AT_ONCE = 2**8  # a block of 4 bytes may hold 128 kB, so that these hold 8 MB at most
_ENCRYPTED = 0x1  # in the flags of a file in a zip
# What zipfile raises for a damaged table of contents; the file itself is open by then.
_ZIP_DAMAGE = (zipfile.BadZipFile, OSError, LookupError, ValueError, OverflowError, struct.error)


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for its bytes as they were before it was packed."""
    opener = _OPENERS.get(path.suffix.lower(), Path.open)
    if path.suffix.lower() in _OPENERS and path.is_file() and path.stat().st_size == 0:
        raise damaged(path, "it is empty")  # to gzip, nothing at all is an empty archive
    try:
        with opener(path, "rb") as file:
            yield file
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, MemoryError) as error:
        raise damaged(path, error) from None
    except OSError as error:
        if error.errno is not None:  # it is the system's; gzip and bzip2 have none for bad data
            raise
        raise damaged(path, error) from None


def unpacked_name(path: Path) -> str:
    """Return a file's name without what says how it is packed."""
    return path.stem if path.suffix.lower() in _OPENERS else path.name


def damaged(path: Path, why: object) -> DataError:
    """Return the error for a file that cannot be read to its end."""
    reason = " ".join(str(why).split())[:200]  # Parquet's has several lines
    return DataError(f"{path} is damaged or cut short ({reason}); get the file again")


@contextmanager
def _open_zip(path: Path, mode: str) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw, _open_archive(raw, path) as archive:
        files = [file for file in archive.infolist() if not file.filename.endswith("/")]
        if len(files) != 1:
            raise DataError(f"{path} holds {len(files)} files; unpack the one that you want")
        if files[0].flag_bits & _ENCRYPTED:
            raise DataError(f"{path} is encrypted; decrypt it, or unpack it yourself")
        try:
            content = archive.open(files[0])
        except NotImplementedError as error:
            raise _unknown_method(path, error) from None
        except _ZIP_DAMAGE as error:
            raise damaged(path, error) from None
        with content:
            yield io.BufferedReader(content, _BYTES_AT_ONCE)  # type: ignore[type-var]


def _open_archive(raw: IO[bytes], path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except NotImplementedError as error:
        raise _unknown_method(path, error) from None
    except _ZIP_DAMAGE as error:
        raise damaged(path, error) from None


def _unknown_method(path: Path, error: object) -> DataError:
    return DataError(
        f"{path} cannot be decompressed ({error}); unpack it yourself, or compress it as most "
        "programs do (deflate)"
    )


def _open_zstd(path: Path, mode: str) -> IO[bytes]:
    try:
        import zstandard  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("reading .zst", "pretrain") from None
    return io.BufferedReader(_ZstdFile(path, zstandard), _BYTES_AT_ONCE)


class _ZstdFile(io.RawIOBase):
    """Frames of Zstandard, one after the other.

    zstandard's own reader takes the end of the file for the end of the text, wherever it is.
    """

    def __init__(self, path: Path, zstandard: Any) -> None:
        self._file = path.open("rb")
        self._zstandard = zstandard
        self._frame: Any = None
        self._packed = b""
        self._unpacked = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._unpacked:
            self._packed = self._packed or self._file.read(_ZSTD_BYTES_AT_ONCE)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("its last frame is not whole")
                return 0
            self._frame = self._frame or self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._unpacked = memoryview(self._frame.decompress(self._packed))
            except self._zstandard.ZstdError as error:
                raise EOFError(error) from None
            self._packed = b""
            if self._frame.eof:
                self._packed, self._frame = self._frame.unused_data, None
        n = min(len(buffer), len(self._unpacked))
        buffer[:n], self._unpacked = self._unpacked[:n], self._unpacked[n:]
        return n

    def close(self) -> None:
        self._file.close()
        super().close()


_OPENERS: dict[str, Callable[[Path, str], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
    ".zst": _open_zstd,
    ".zip": _open_zip,
}
