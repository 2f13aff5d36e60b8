"""Bytes in, lines of text out, with the number of the first line that is not UTF-8 in the error."""

from collections.abc import Iterable, Iterator

from elmore.errors import DataError


def decode_lines(lines: Iterable[bytes], source: str) -> Iterator[str]:
    """Decode UTF-8 lines and drop their ends; `source` is what the error calls the file."""
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source} is not UTF-8: line {number}, byte {error.start + 1} "
                f"(0x{line[error.start]:02x}); save it as UTF-8 and try again"
            ) from None
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield text.removesuffix("\n").removesuffix("\r")
