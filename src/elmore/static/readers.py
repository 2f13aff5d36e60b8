"""Files of static vectors in, words and vectors out: GloVe, word2vec and fastText as published.

Text files have a word and its values on each line, after a header with the number of words and
dimensions (word2vec, fastText's .vec) or without one (GloVe). Binary files (word2vec's) have the
header, then each word, a space and its values as float32. Any of them may be compressed.

A header is not believed: memory is taken for what is there, a few megabytes at a time.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import numpy.typing as npt

from elmore.corpus.compression import open_decompressed
from elmore.corpus.lines import limited_lines
from elmore.errors import DataError, FormatError, shown
from elmore.static.config import MAX_DIM

DecodingErrors = Literal["strict", "replace"]
Vectors = npt.NDArray[np.float32]
Rows = tuple[list[bytes], Vectors]
"""Some words and their vectors."""

_ROWS_AT_ONCE = 4096
_VALUES_AT_ONCE = 2**22
_BYTES_AT_ONCE = 2**20
_MAX_WORD_BYTES = 2**16
_MAX_LINE_BYTES = 2**22  # MAX_DIM values of 64 characters


@dataclass(frozen=True)
class WordTable:
    """The words and vectors of a file."""

    words: list[str]
    """N of them, in the file's order, each once."""
    vectors: Vectors
    """(N, D)"""


def read_table(path: Path, *, max_words: int | None, errors: DecodingErrors) -> WordTable:
    """Read a file of vectors, or its first `max_words`; of a word that is there twice, the first.

    `errors` is for words that are not UTF-8: "strict" refuses the file, "replace" puts U+FFFD for
    what cannot be decoded.
    """
    is_folder = os.path.isdir(path)  # noqa: PTH112  any text may come, also one that is no path
    if is_folder or not os.path.exists(path):  # noqa: PTH110
        what = "is a folder" if is_folder else "does not exist"
        raise DataError(f"{path} {what}; expected a file of vectors")
    words: list[bytes] = []
    parts: list[Vectors] = []
    with open_decompressed(path) as file:
        for some, vectors in _rows(file, path, max_words):
            words += some
            parts.append(vectors)
    if not words:
        raise FormatError(f"{path} has no vectors; expected a word and its values on each line")
    return _distinct(_decode(words, errors, path), np.concatenate(parts))


def _rows(file: Any, path: Path, max_words: int | None) -> Iterator[Rows]:
    lines = limited_lines(file.readline, str(path), _MAX_LINE_BYTES)
    first = next(lines, b"")
    counts = _counts(first)
    if counts is None:
        yield from _text_rows(chain([first], lines), path, None, max_words, first_line=1)
        return
    n_words, dim = counts
    if not 1 <= dim <= MAX_DIM:
        raise FormatError(f"{path} has a header with {dim} dimensions; expected 1 to {MAX_DIM:,}")
    wanted = n_words if max_words is None else min(n_words, max_words)
    if _is_binary(file.peek(64)):
        yield from _binary_rows(file, path, wanted, dim)
        return
    n_read = 0
    for some, vectors in _text_rows(lines, path, dim, max_words, first_line=2):
        n_read += len(some)
        yield some, vectors
    if n_read < wanted or (max_words is None and n_read > wanted):
        raise FormatError(
            f"{path} says that it has {n_words} words and has {n_read}; download it again"
        )


def _counts(line: bytes) -> tuple[int, int] | None:
    """Return the number of words and dimensions, if the line is a header."""
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() and len(field) < 19 for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _is_binary(beginning: bytes) -> bool:
    """Whether the first row is no text: raw float32 values are neither characters nor numbers."""
    row, end, _ = beginning.partition(b"\n")
    values = row.split()[1 : None if end else -1]
    if values and _number(values[-1]) is not None:
        return False  # whatever the word is
    if not values and row.endswith(b" "):  # a line break is the first byte of a value
        return True
    return any(byte < 0x20 and byte not in b"\t\r" for byte in row) or not _is_utf8(row)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(text) - error.start < 4  # the last character is incomplete
    return True


# --- text -----------------------------------------------------------------------------------------


def _text_rows(
    lines: Iterable[bytes], path: Path, dim: int | None, max_words: int | None, *, first_line: int
) -> Iterator[Rows]:
    numbered = (one for one in enumerate(lines, start=first_line) if one[1].strip())
    for some in _some_lines(islice(numbered, max_words)):
        words: list[bytes] = []
        rows: list[tuple[int, list[bytes]]] = []
        for number, line in some:
            if dim is None:
                dim = len(line.split()) - 1
            if dim > MAX_DIM:
                raise FormatError(
                    f"{path} has {dim:,} values in a line; expected up to {MAX_DIM:,}"
                )
            word, *fields = line.rsplit(None, max(dim, 1))
            if dim == 0 or len(fields) != dim or _ends_in_number(word):
                raise FormatError(
                    f"{path}, line {number}, has {len(line.split()) - 1} values; expected a word "
                    f"and {dim or 'its'} values, as many on each line"
                )
            words.append(word)
            rows.append((number, fields))
        yield words, _parse(rows, path)


def _some_lines(numbered: Iterable[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Give the lines together that are parsed at once."""
    some: list[tuple[int, bytes]] = []
    n_bytes = 0
    for number, line in numbered:
        some.append((number, line))
        n_bytes += len(line)
        if len(some) == _ROWS_AT_ONCE or n_bytes >= _VALUES_AT_ONCE:
            yield some
            some, n_bytes = [], 0
    if some:
        yield some


def is_readable(word: str) -> bool:
    """Whether a word can be read again from a text file."""
    written = word.encode("utf-8")
    return bool(word) and b" ".join(written.split()) == written and not _ends_in_number(written)


def _ends_in_number(word: bytes) -> bool:
    """Whether a word of several parts, which a few published ones are, ends in a number."""
    *_, last = word.split()
    return b" " in word.strip() and _number(last) is not None


def _parse(rows: list[tuple[int, list[bytes]]], path: Path) -> Vectors:
    """Parse the values of some lines, (rows, D)."""
    dim = len(rows[0][1])
    text = b" ".join(chain.from_iterable(fields for _, fields in rows))
    try:
        found = np.fromstring(text, dtype=np.float32, sep=" ")
    except ValueError:  # something is not a number
        found = np.empty(0, np.float32)
    if found.size != len(rows) * dim or not np.isfinite(found).all():
        values = []
        for number, fields in rows:
            for field in fields:
                values.append(_number(field))
                if values[-1] is None:
                    raise FormatError(
                        f"{path}, line {number}, has {shown(field.decode('utf-8', 'replace'))}; "
                        "expected a number, neither nan nor infinite"
                    )
        found = np.array(values, np.float32)  # what only Python takes for numbers
    return found.reshape(-1, dim)


def _number(field: bytes) -> float | None:
    """Return a number that a float32 can hold."""
    try:
        with np.errstate(over="ignore"):
            number = np.float32(float(field))
    except ValueError:
        return None
    return float(number) if np.isfinite(number) and b"_" not in field else None


# --- binary ---------------------------------------------------------------------------------------


def _binary_rows(file: IO[bytes], path: Path, n_words: int, dim: int) -> Iterator[Rows]:
    size, buffer, place = 4 * dim, b"", 0
    rows_at_once = max(1, min(_ROWS_AT_ONCE, _VALUES_AT_ONCE // dim))
    for first in range(0, n_words, rows_at_once):
        words: list[bytes] = []
        vectors = np.empty((min(rows_at_once, n_words - first), dim), np.float32)
        for row in range(len(vectors)):
            space = buffer.find(b" ", place)
            while space < 0 or len(buffer) < space + 1 + size:
                more = file.read(max(_BYTES_AT_ONCE, size))
                if not more:
                    raise FormatError(
                        f"{path} says that it has {n_words} words and ends in word "
                        f"{first + row + 1}; download it again"
                    )
                buffer, place = buffer[place:] + more, 0
                space = buffer.find(b" ")
                if (space if space >= 0 else len(buffer)) > _MAX_WORD_BYTES:
                    raise FormatError(
                        f"{path}, word {first + row + 1}, is longer than {_MAX_WORD_BYTES} bytes; "
                        "download it again"
                    )
            words.append(buffer[place:space].lstrip(b"\n"))
            vectors[row] = np.frombuffer(buffer, "<f4", dim, space + 1)
            place = space + 1 + size
        if not np.isfinite(vectors).all():
            bad = int(np.argmin(np.isfinite(vectors).all(axis=1)))
            raise FormatError(
                f"{path}, word {first + bad + 1}, has a number that is nan or infinite; "
                "expected none"
            )
        yield words, vectors


# --- words ----------------------------------------------------------------------------------------


def _decode(words: list[bytes], errors: DecodingErrors, path: Path) -> list[str]:
    try:
        return [word.decode("utf-8", errors) for word in words]
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path} has the word {shown(error.object)}, which is not UTF-8; "
            'errors="replace" puts U+FFFD for what cannot be decoded'
        ) from None


def _distinct(words: list[str], vectors: Vectors) -> WordTable:
    """Remove duplicate words; the first is kept."""
    rows = {word: row for row, word in reversed(list(enumerate(words)))}
    if len(rows) == len(words):
        return WordTable(words, vectors)
    kept = sorted(rows.values())
    return WordTable([words[row] for row in kept], vectors[kept])
