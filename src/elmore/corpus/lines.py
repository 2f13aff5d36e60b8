"""Bytes in, lines of text out, with the number of the first line that is not UTF-8 in the error.

A line that does not end is refused at a limit: the memory that a text takes is that of a line, and
a small compressed file may hold a line of gigabytes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import IO, AnyStr

from elmore.checks import at_least
from elmore.errors import DataError

MAX_LINE_BYTES = 64 * 2**20


def limited_lines(
    readline: Callable[[int], AnyStr], source: str, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[AnyStr]:
    """Give the lines of a file with their ends; refuse one that is too long before it is read."""
    at_least(1, max_line_bytes=max_line_bytes)
    number = 0
    while line := readline(max_line_bytes + 1):
        number += 1
        if len(line) > max_line_bytes:
            raise DataError(
                f"{source} has more than {max_line_bytes:,} bytes in line {number}; check that it "
                "is text, and break its lines"
            )
        yield line


def decode_lines(
    lines: IO[bytes] | Iterable[bytes],
    source: str,
    *,
    max_line_bytes: int = MAX_LINE_BYTES,
    is_start: bool = True,
) -> Iterator[str]:
    """Decode UTF-8 lines and drop their ends; `source` is what the error calls the file.

    Of a file, a line longer than `max_line_bytes` is refused. A byte order mark is dropped, unless
    the lines are not the start of a file.
    """
    if readline := getattr(lines, "readline", None):
        lines = limited_lines(readline, source, max_line_bytes)
    for number, line in enumerate(lines, start=1):
        text = decode_line(line, number, source)
        if number == 1 and is_start:
            text = text.removeprefix("\ufeff")
        yield text.removesuffix("\n").removesuffix("\r")


def decode_line(line: bytes, number: int, source: str) -> str:
    """Decode one UTF-8 line; `number` is which of the file it is."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source} is not UTF-8: line {number}, byte {error.start + 1} "
            f"(0x{line[error.start]:02x}); save it as UTF-8 and try again"
        ) from None
