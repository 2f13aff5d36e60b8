"""Compressed files in, their content out: gzip, bzip2, xz, Zstandard, or a zip of one file.

The suffix says how a file is compressed. A damaged or truncated file is an error, never a shorter
content.
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

from elmore.corpus.foreign_files import refuse_foreign_file
from elmore.errors import DataError, MissingExtraError
from elmore.stores import AnyPath
from elmore.versions import open_file

_BYTES_AT_ONCE = 2**16
_ZSTD_BYTES_AT_ONCE = 2**8  # a block of 4 bytes may hold 128 kB, so that these hold 8 MB at most
_ENCRYPTED = 0x1  # in the flags of a file in a zip
# What zipfile raises for a damaged table of contents; the file itself is open by then.
_ZIP_DAMAGE = (zipfile.BadZipFile, OSError, LookupError, ValueError, OverflowError, struct.error)


@contextmanager
def open_decompressed(path: AnyPath) -> Iterator[IO[bytes]]:
    """Open a file, compressed or not, for its decompressed bytes."""
    opener = _OPENERS.get(path.suffix.lower())
    if opener is not None and path.is_file() and path.stat().st_size == 0:
        raise damaged(path, "it is empty")  # gzip takes an empty file for an empty archive
    with finding_damage(path), open_file(path) as raw:
        if opener is None:
            refuse_foreign_file(raw, path)
            yield raw
            return
        with opener(raw, path) as file:
            yield file


@contextmanager
def finding_damage(path: AnyPath) -> Iterator[None]:
    """Say that a file is damaged where a library says so in its own way."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, MemoryError) as error:
        raise damaged(path, error) from None
    except OSError as error:
        if error.errno is not None:  # the operating system's; gzip and bzip2 set none for bad data
            raise
        raise damaged(path, error) from None


def decompressed_name(path: AnyPath) -> str:
    """Return a file's name without the suffix of its compression."""
    return path.stem if path.suffix.lower() in _OPENERS else path.name


def suffix_of(path: AnyPath) -> str:
    """Return the suffix of a file's name without that of its compression, in lower case."""
    return Path(decompressed_name(path)).suffix.lower()


def damaged(path: AnyPath, why: object) -> DataError:
    """Return the error for a file that cannot be read to its end."""
    reason = " ".join(str(why).split())[:200]  # Parquet's has several lines
    return DataError(f"{path} is damaged or truncated ({reason}); download it again")


@contextmanager
def _open_zip(raw: IO[bytes], path: AnyPath) -> Iterator[IO[bytes]]:
    with _open_archive(raw, path) as archive:
        files = [file for file in archive.infolist() if not file.filename.endswith("/")]
        if len(files) != 1:
            raise DataError(f"{path} holds {len(files)} files; extract the one that you want")
        if files[0].flag_bits & _ENCRYPTED:
            raise DataError(f"{path} is encrypted; decrypt it, or extract it yourself")
        try:
            content = archive.open(files[0])
        except NotImplementedError as error:
            raise _unknown_method(path, error) from None
        except _ZIP_DAMAGE as error:
            raise damaged(path, error) from None
        with content:
            yield io.BufferedReader(content, _BYTES_AT_ONCE)  # type: ignore[type-var]


def _open_archive(raw: IO[bytes], path: AnyPath) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except NotImplementedError as error:
        raise _unknown_method(path, error) from None
    except _ZIP_DAMAGE as error:
        raise damaged(path, error) from None


def _unknown_method(path: AnyPath, error: object) -> DataError:
    return DataError(
        f"{path} cannot be decompressed ({error}); extract it yourself, or compress it as most "
        "programs do (deflate)"
    )


def open_zstd(raw: IO[bytes]) -> IO[bytes]:
    """Decompress the frames of Zstandard that follow in a file."""
    return io.BufferedReader(_ZstdFile(raw, import_zstandard()), _BYTES_AT_ONCE)


def import_zstandard() -> Any:
    """Return the library that reads .zst."""
    try:
        import zstandard  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("reading .zst", "pretrain") from None
    return zstandard


class _ZstdFile(io.RawIOBase):
    """Frames of Zstandard, one after the other.

    zstandard's own reader takes a truncated file for a whole one.
    """

    def __init__(self, file: IO[bytes], zstandard: Any) -> None:
        self._file = file
        self._zstandard = zstandard
        self._frame: Any = None
        self._compressed = b""
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._decompressed:
            self._compressed = self._compressed or self._file.read(_ZSTD_BYTES_AT_ONCE)
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("its last frame is incomplete")
                return 0
            self._frame = self._frame or self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._decompressed = memoryview(self._frame.decompress(self._compressed))
            except self._zstandard.ZstdError as error:
                raise EOFError(error) from None
            self._compressed = b""
            if self._frame.eof:
                self._compressed, self._frame = self._frame.unused_data, None
        n = min(len(buffer), len(self._decompressed))
        buffer[:n], self._decompressed = self._decompressed[:n], self._decompressed[n:]
        return n


_OPENERS: dict[str, Callable[[IO[bytes], AnyPath], Any]] = {
    ".gz": lambda raw, _: gzip.GzipFile(fileobj=raw),
    ".bz2": lambda raw, _: bz2.BZ2File(raw),
    ".xz": lambda raw, _: lzma.LZMAFile(raw),  # noqa: SIM115  closed by its user
    ".zst": lambda raw, _: open_zstd(raw),
    ".zip": _open_zip,
}
