"""Text files of several kinds in, lines of text out, one at a time.

Plain text has a text a line; .jsonl and .parquet have it in a field of each record, and a record
of several lines gives several. All but .parquet may be compressed (compression.py), and `-` is
plain text from standard input.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elmore.corpus.compression import damaged, open_unpacked, unpacked_name
from elmore.corpus.lines import decode_lines
from elmore.errors import DataError, MissingExtraError

STANDARD_INPUT = Path("-")

_ROWS_AT_ONCE = 1000


def check_texts(paths: Sequence[Path]) -> None:
    """Refuse what cannot be read, before anything is."""
    for path in paths:
        if path == STANDARD_INPUT:
            continue
        if path.is_dir():
            raise DataError(f"{path} is a folder; name the files in it, such as {path}/*.txt")
        if not path.exists():
            raise DataError(f"{path} does not exist; expected a file of text")


def describe_text(path: Path) -> dict[str, Any]:
    """Return what tells a text from others: its name, its size and its hash.

    Standard input and pipes can be read once only: they are known by their names.
    """
    is_file = path != STANDARD_INPUT and path.is_file()
    return {"name": path.name, **(fingerprint(path) if is_file else {})}


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest}


def read_texts(paths: Sequence[Path], text_field: str) -> Iterator[str]:
    """Yield the lines of the files in order, without their ends and without the blank ones."""
    check_texts(paths)
    for path in paths:
        for text in _read(path, text_field):
            for line in text.split("\n"):
                if line and not line.isspace():
                    yield line


def _read(path: Path, field: str) -> Iterator[str]:
    name = unpacked_name(path).lower()
    if name.endswith(".parquet"):
        return _read_parquet(path, field)
    lines = decode_lines(_raw_lines(path), _name(path))
    return _read_json_lines(lines, path, field) if name.endswith(".jsonl") else lines


def _name(path: Path) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


def _raw_lines(path: Path) -> Iterator[bytes]:
    if path == STANDARD_INPUT:
        yield from sys.stdin.buffer
    else:
        with open_unpacked(path) as file:
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
        raise damaged(path, error) from None


def _string(value: object, field: str, where: str) -> str:
    if not isinstance(value, str):
        raise DataError(
            f"{where} has a {type(value).__name__} in field {field!r}; expected a string"
        )
    return value
