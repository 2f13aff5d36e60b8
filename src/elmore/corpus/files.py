"""Text files of several kinds in, lines of text out, one at a time.

Plain text has a text a line; .jsonl, .csv, .tsv and .parquet have it in a field of each record
(records.py), and `read_texts` makes several of a record of several lines. All but .parquet may be
compressed (compression.py), and `-` is plain text from standard input.
"""

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

from elmore.corpus.compression import open_decompressed
from elmore.corpus.lines import MAX_LINE_BYTES, decode_lines
from elmore.corpus.records import Record, read_records, record_format, value_of
from elmore.errors import DataError
from elmore.stores import AnyPath, RemotePath
from elmore.versions import open_file, watch

STANDARD_INPUT = Path("-")


def check_texts(paths: Sequence[AnyPath]) -> None:
    """Refuse files that cannot be read, before any is read."""
    for path in paths:
        if path == STANDARD_INPUT:
            continue
        if path.is_dir():
            raise is_folder(path)
        if not path.exists():
            raise no_match(str(path)) or DataError(
                f"{path} does not exist; expected a file of text"
            )


def is_folder(path: AnyPath) -> DataError:
    """Return the error for a folder where files were expected, with an example of its own."""
    files = path.iterdir() if isinstance(path, Path) else []
    suffixes = Counter(one.suffix for one in files if one.suffix and one.is_file())
    ((suffix, _),) = suffixes.most_common(1) or ((".txt", 0),)
    return DataError(f"{path} is a folder; name the files in it, such as {path}/*{suffix}")


def no_match(name: str) -> DataError | None:
    """Return the error for a name that is a pattern, which a shell leaves where nothing matches."""
    if not re.search(r"[*?]|\[.+\]", name):
        return None
    return DataError(f"no file matches {name}; check the folder and the pattern")


def describe_text(path: AnyPath) -> dict[str, Any]:
    """Return what identifies a text: its name, its size and its hash.

    Standard input and pipes can be read only once, so they have a name alone; what is on a remote
    store is not read for its hash.
    """
    if isinstance(path, RemotePath):
        return {"name": name_of(path), "size": path.stat().st_size}
    is_file = path != STANDARD_INPUT and path.is_file()
    return {"name": name_of(path), **(fingerprint(path) if is_file else {})}


def name_of(path: AnyPath) -> str:
    """Return the name of a file as it is written: a question mark for what is not UTF-8."""
    return path.name.encode("utf-8", "replace").decode()


def fingerprint(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file."""
    with open_file(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest}


def read_texts(
    paths: Sequence[AnyPath], text_field: str, *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[str]:
    """Yield the lines of the files in order, without line ends and blank lines.

    A line of a file that is longer than `max_line_bytes` is refused.
    """
    check_texts(paths)
    for path in paths:
        for (text,) in read_fields(path, [text_field], max_line_bytes=max_line_bytes):
            for line in text.split("\n"):
                if line and not line.isspace():
                    yield line


def read_fields(
    path: AnyPath, fields: Sequence[str], *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[str, ...]]:
    """Yield these fields of each record, or each line of plain text by itself, also if blank."""
    form = record_format(path)
    if form is None:
        with _open(path) as file:
            for line in decode_lines(file, _name(path), max_line_bytes=max_line_bytes):
                yield (line,)
        return
    for where, record in read_records(path, form, fields, max_line_bytes=max_line_bytes):
        yield tuple(text_of(record, field, where) for field in fields)


def text_of(record: Record, field: str, where: str) -> str:
    """Return the text in a field of a record."""
    value = value_of(record, field, where)
    if not isinstance(value, str):
        raise DataError(
            f"{where} has a {type(value).__name__} in field {field!r}; expected a string"
        )
    # JSON can hold a lone surrogate, which UTF-8 cannot encode.
    return value.encode("utf-8", "ignore").decode("utf-8")


def _name(path: AnyPath) -> str:
    return "standard input" if path == STANDARD_INPUT else str(path)


def _open(path: AnyPath) -> AbstractContextManager[IO[bytes]]:
    if path == STANDARD_INPUT:
        return nullcontext(watch(sys.stdin.buffer, _name(path)))
    return open_decompressed(path)
