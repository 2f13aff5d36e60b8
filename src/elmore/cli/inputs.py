"""The input of a command: texts, files of any kind, standard input.

Files are read by `elmore.corpus.files`; here files, texts and mistyped options are told apart.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from elmore.corpus.files import STANDARD_INPUT, check_texts, is_folder, no_match, read_fields
from elmore.corpus.records import record_format
from elmore.errors import ConfigError, DataError
from elmore.stores import as_path, as_paths, is_address

_STDIN = str(STANDARD_INPUT)


def read_input(
    given: Sequence[str], fields: Sequence[str], *, max_line_bytes: int
) -> Iterator[tuple[str, ...]]:
    """Yield texts: arguments, lines of text files, and these fields of records.

    Without any argument, standard input is read. Whatever is wrong with an argument is said before
    anything is read.
    """
    if not given and sys.stdin.isatty():
        raise DataError("there is nothing to read; give texts, name a file, or pipe text in")
    for one in given:
        _check(one)
    texts = [text for one in given for text in _expanded(one)]
    return _read(texts or [_STDIN], fields, max_line_bytes)


def is_remote(one: str) -> bool:
    """Return whether an argument is the address of a file, such as s3://bucket/file.txt."""
    return is_address(one) and len(one.split()) == 1


def _expanded(one: str) -> list[str]:
    return [str(path) for path in as_paths([one])] if is_remote(one) else [one]


def count_texts(given: Sequence[str]) -> int | None:
    """Return how many texts there are, where that can be known before they are read."""
    if any(map(is_remote, given)):
        return None
    sizes = [_count_lines(Path(one)) if _is_file(one) else 1 for one in given]
    return None if not given or _STDIN in given or None in sizes else sum(filter(None, sizes))


def _read(
    given: Sequence[str], fields: Sequence[str], max_line_bytes: int
) -> Iterator[tuple[str, ...]]:
    for one in given:
        if one == _STDIN or _is_file(one):
            yield from read_fields(Path(one), fields, max_line_bytes=max_line_bytes)
        elif is_remote(one):
            yield from read_fields(as_path(one), fields, max_line_bytes=max_line_bytes)
        else:
            yield (one,)


def _check(one: str) -> None:
    """Refuse what was meant as an option or a file but is none, and bytes that are no text."""
    if re.fullmatch(r"--?[A-Za-z][\w-]*(=.*)?", one):
        raise ConfigError(f"there is no option {one}; if it is a text, put a space before it")
    if is_remote(one):
        check_texts(as_paths([one]))
        return
    looks_like_file = len(one.split()) == 1 and (
        Path(one).suffix[1:].isalnum() or one.startswith(("./", "../", "/", "~"))
    )
    if os.path.isdir(one):  # noqa: PTH112  any text may come
        raise is_folder(Path(one))
    if looks_like_file and not _is_file(one):
        raise no_match(one) or DataError(
            f"there is no file {one}; if it is a text, put a space before it"
        )
    if not _is_file(one) and any("\ud800" <= character <= "\udfff" for character in one):
        raise DataError(f"the text {one!r} is not UTF-8; check the terminal's encoding")


def _is_file(one: str) -> bool:
    """Return whether there is such a file; a pipe such as <(command) is one."""
    return os.path.exists(one) and not os.path.isdir(one)  # noqa: PTH110, PTH112  any text may come


def _count_lines(path: Path) -> int | None:
    from elmore.corpus.compression import decompressed_name

    if not path.is_file() or record_format(path) or decompressed_name(path) != path.name:
        return None  # a pipe can be read only once; records and compressed files take too long
    with path.open("rb") as file:
        return sum(1 for _ in file)
