"""Text files of several kinds in, lines of text out, one at a time.

Plain text has a text a line; .jsonl and .parquet have it in a field of each record, and a record
of several lines gives several. All but .parquet may be packed with gzip, xz or Zstandard, and `-`
is plain text from standard input. A damaged file is an error and never a shorter text.
"""

import gzip
import json
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from elmore.errors import DataError, MissingExtraError
from elmore.text import decode_lines

STANDARD_INPUT = Path("-")

_ROWS_AT_ONCE = 1000
_BYTES_AT_ONCE = 2**16


def check_texts(paths: Sequence[Path]) -> None:
    """Refuse what cannot be read, before anything is."""
    for path in paths:
        if path == STANDARD_INPUT:
            continue
        if path.is_dir():
            raise DataError(f"{path} is a folder; name the files in it, such as {path}/*.txt")
        if not path.exists():
            raise DataError(f"{path} does not exist; expected a file of text")


def read_texts(paths: Sequence[Path], text_field: str) -> Iterator[str]:
    """Yield the lines of the files in order, without their ends and without the blank ones."""
    check_texts(paths)
    for path in paths:
        for text in _read(path, text_field):
            for line in text.split("\n"):
                if line and not line.isspace():
                    yield line


def _read(path: Path, field: str) -> Iterator[str]:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".parquet"]:
        return _read_parquet(path, field)
    if suffixes and suffixes[-1] in _UNPACKERS:
        lines = decode_lines(_unpack(path, _UNPACKERS[suffixes.pop()]), str(path))
    else:
        lines = decode_lines(_read_plain(path), _name(path))
    return _read_json_lines(lines, path, field) if suffixes[-1:] == [".jsonl"] else lines


def _name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


def _read_plain(path: Path) -> Iterator[bytes]:
    if path == STANDARD_INPUT:
        yield from sys.stdin.buffer
    else:
        with path.open("rb") as file:
            yield from file


def _read_json_lines(lines: Iterator[str], path: Path, field: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{path}, line {number} is not JSON ({error}); expected an object a line"
            ) from None
        if not isinstance(record, dict) or field not in record:
            raise DataError(
                f"{path}, line {number} has no field {field!r}; "
                "expected an object with its text there: name the right text_field"
            )
        text = _string(record[field], field, f"{path}, line {number}")
        # JSON can say half a character of UTF-16, which has no spelling in bytes.
        yield text.encode("utf-8", "ignore").decode("utf-8")


def _read_parquet(path: Path, field: str) -> Iterator[str]:
    try:
        import pyarrow  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("reading .parquet", "parquet") from None
    try:
        with parquet.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            if field not in columns:
                raise DataError(
                    f"{path} has no column {field!r}; name its text_field: {', '.join(columns)}"
                )
            batches = file.iter_batches(columns=[field], batch_size=_ROWS_AT_ONCE)
            rows = (text for batch in batches for text in batch.column(0).to_pylist())
            for number, text in enumerate(rows, start=1):
                yield _string(text, field, f"{path}, row {number}")
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from None


def _string(value: object, field: str, where: str) -> str:
    if not isinstance(value, str):
        raise DataError(
            f"{where} has a {type(value).__name__} in field {field!r}; expected a string"
        )
    return value


def _unpack(path: Path, unpacker: Callable[[Path], Iterator[bytes]]) -> Iterator[bytes]:
    # To gzip, nothing at all is an empty archive.
    if path.is_file() and path.stat().st_size == 0:
        raise _damaged(path, "it is empty")
    try:
        yield from unpacker(path)
    except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, why: object) -> DataError:
    return DataError(f"{path} is damaged or cut short ({why}); get the file again")


def _unpack_gzip(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as file:
        yield from file


def _unpack_xz(path: Path) -> Iterator[bytes]:
    with lzma.open(path) as file:
        yield from file


def _unpack_zstd(path: Path) -> Iterator[bytes]:
    try:
        import zstandard  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("reading .zst", "train") from None
    # zstandard's own reader takes the end of the file for the end of the text, wherever it is.
    frame: zstandard.ZstdDecompressionObj | None = None
    rest = b""
    with path.open("rb") as file:
        while packed := file.read(_BYTES_AT_ONCE):
            while packed:
                frame = frame or zstandard.ZstdDecompressor().decompressobj()
                try:
                    text = frame.decompress(packed)
                except zstandard.ZstdError as error:
                    raise _damaged(path, error) from None
                *lines, rest = (rest + text).split(b"\n")
                yield from lines
                packed = b""
                if frame.eof:
                    packed, frame = frame.unused_data, None
    if frame is not None:
        raise EOFError("its last frame is not whole")
    if rest:
        yield rest


_UNPACKERS = {".gz": _unpack_gzip, ".xz": _unpack_xz, ".zst": _unpack_zstd}
