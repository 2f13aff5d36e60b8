"""Files of records in, each record as a dictionary out, with its place in the file.

.jsonl and .json have an object a line, .csv and .tsv name their columns in the first line (a tab in
a .tsv cannot be quoted), .parquet names them itself. The columns of a .csv are separated by what
separates their names: commas, semicolons (as Excel writes where commas are decimal) or tabs. All
but .parquet may be compressed.
"""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import IO, Any

from elmore.corpus.compression import damaged, open_decompressed, suffix_of
from elmore.corpus.lines import MAX_LINE_BYTES, decode_line, decode_lines, limited_lines
from elmore.errors import DataError, MissingExtraError
from elmore.stores import AnyPath
from elmore.versions import open_file

Record = dict[str, Any]

_FORMATS = {"jsonl": "jsonl", "json": "jsonl", "csv": "csv", "tsv": "tsv", "parquet": "parquet"}
_ROWS_AT_ONCE = 1000


def record_format(path: AnyPath) -> str | None:
    """Return the format of a file of records by its name, None for any other file."""
    return _FORMATS.get(suffix_of(path).removeprefix("."))


def read_records(
    path: AnyPath, form: str, fields: Sequence[str], *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[str, Record]]:
    """Yield the place and the values of each record that is not blank (.parquet: `fields`)."""
    if form == "parquet":
        return _read_parquet(path, fields)
    if form == "jsonl":
        return _read_json_lines(path, max_line_bytes)
    if form == "tsv":
        return _with_header(_split_tabs(path, max_line_bytes), fields)
    return _with_header(_split_csv(path, fields, max_line_bytes), fields)


def value_of(record: Record, field: str, where: str) -> Any:
    """Return the value of a field, which must be there."""
    if field not in record:
        raise _no_field(field, where, list(record))
    return record[field]


def numbered_lines(
    path: AnyPath, *, latin_1: bool = False, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each line that is not blank."""
    with open_decompressed(path) as file:
        lines = limited_lines(file.readline, str(path), max_line_bytes)
        if latin_1:
            lines = (line.decode("latin-1").encode() for line in lines)
        for number, line in enumerate(decode_lines(lines, str(path)), start=1):
            if line.strip():
                yield f"{path}, line {number}", line


def _no_field(field: str, where: str, known: Sequence[str]) -> DataError:
    return DataError(f"{where} has no field {field!r}; name one of {_names([*map(repr, known)])}")


def _names(names: Sequence[str]) -> str:
    """Return the first few, each on one line and no longer than names are."""
    some = (" ".join(name.split())[:40] for name in names[:10])
    return ", ".join([*some, *["…"] * (len(names) > 10)])


def _read_json_lines(path: AnyPath, max_line_bytes: int) -> Iterator[tuple[str, Record]]:
    for where, line in numbered_lines(path, max_line_bytes=max_line_bytes):
        yield where, parse_json_line(line, where)


def parse_json_line(line: str, where: str) -> Record:
    """Return the record of a line of JSON."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON ({error}); expected an object a line") from None
    if not isinstance(record, dict):
        raise DataError(f"{where} holds a JSON {type(record).__name__}; expected an object a line")
    return record


def _with_header(
    rows: Iterator[tuple[str, list[str]]], fields: Sequence[str]
) -> Iterator[tuple[str, Record]]:
    header: list[str] | None = None
    for where, row in rows:
        if header is None:
            header = row
            for field in fields:
                if row.count(field) > 1:
                    raise DataError(f"{where} names the column {field!r} twice; rename one of them")
        elif len(row) != len(header):
            raise DataError(
                f"{where} has {len(row)} columns; expected {len(header)}: {_names(header)}"
            )
        else:
            yield where, dict(zip(header, row, strict=True))


def _split_tabs(path: AnyPath, max_line_bytes: int) -> Iterator[tuple[str, list[str]]]:
    for where, line in numbered_lines(path, max_line_bytes=max_line_bytes):
        yield where, line.split("\t")


def _split_csv(
    path: AnyPath, fields: Sequence[str], max_line_bytes: int
) -> Iterator[tuple[str, list[str]]]:
    csv.field_size_limit(max(csv.field_size_limit(), max_line_bytes))
    with open_decompressed(path) as file:
        lines = _csv_lines(file, path, max_line_bytes)
        header = next(lines, "").removeprefix("\ufeff")
        delimiter = _delimiter(header, fields)
        rows = csv.reader(chain([header], lines), delimiter=delimiter, strict=True)
        try:
            for row in rows:
                if row:
                    yield f"{path}, line {rows.line_num}", row
        except csv.Error as error:
            raise DataError(f"{path}, line {rows.line_num}, is not CSV ({error}); fix it") from None


def _csv_lines(file: IO[bytes], path: AnyPath, max_line_bytes: int) -> Iterator[str]:
    """Yield lines with their ends, of which a lone carriage return is one."""
    lines = limited_lines(file.readline, str(path), max_line_bytes)
    for number, line in enumerate(lines, start=1):
        yield from io.StringIO(decode_line(line, number, str(path)), newline="")


def _delimiter(header: str, fields: Sequence[str]) -> str:
    """Return what separates the names of columns: what makes these fields of them, or most."""

    def n_columns(delimiter: str) -> tuple[int, int]:
        names = next(csv.reader([header], delimiter=delimiter), [])
        return len(set(names) & set(fields)), len(names)

    return max(",;\t", key=n_columns)


def _read_parquet(path: AnyPath, fields: Sequence[str]) -> Iterator[tuple[str, Record]]:
    try:
        import pyarrow  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("reading .parquet", "parquet") from None
    try:
        with open_file(path) as raw, parquet.ParquetFile(raw) as file:
            columns = file.schema_arrow.names
            for field in fields:
                if field not in columns:
                    raise _no_field(field, str(path), columns)
            batches = file.iter_batches(columns=list(fields), batch_size=_ROWS_AT_ONCE)
            rows = (row for batch in batches for row in batch.to_pylist())
            for number, row in enumerate(rows, start=1):
                yield f"{path}, row {number}", row
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(path, error) from None
