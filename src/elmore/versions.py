"""Files in, opened so that a change is noticed: a text must be the same from its start to its end.

What tells one content of a file from another is its size, and when it last changed, or what a
remote store says for that. An open local file is checked after each read, so that nothing is given
that does not belong together; a remote one at its end. What is read more than once is checked by
`unchanged`. Standard input is a file too where the shell redirects one; a pipe gives what it gives.
"""

import io
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from elmore.errors import DataError, ElmoreError
from elmore.stores import AnyPath, RemotePath

_BYTES_AT_ONCE = 2**18


class Version(NamedTuple):
    """What tells one content of a file from another."""

    size: int
    changed: int | str
    """When: nanoseconds; or what a remote store says, such as an ETag."""


def version_of(path: AnyPath) -> Version | None:
    """Return the version of a file now; None for what is no file, such as a pipe."""
    if isinstance(path, RemotePath):
        return Version(*path.stat())
    return _version(path.stat()) if path.is_file() else None


def versions_of(paths: Sequence[AnyPath]) -> dict[AnyPath, Version | None]:
    """Return the versions of some files now."""
    return {path: version_of(path) for path in paths}


@contextmanager
def unchanged(versions: Mapping[AnyPath, Version | None]) -> Iterator[None]:
    """Refuse files that are not in these versions after they were read."""
    try:
        yield
    except (ElmoreError, FileNotFoundError):  # of which a change may be the cause
        _check(versions)
        raise
    _check(versions)


def _check(versions: Mapping[AnyPath, Version | None]) -> None:
    for path, version in versions.items():
        if (now := version_of(path)) != version:
            raise _changed(str(path), version, now)


@contextmanager
def open_file(path: AnyPath) -> Iterator[io.BufferedReader]:
    """Open a file; a read raises an error if it has changed meanwhile."""
    if isinstance(path, RemotePath):
        with path.open() as file:
            yield _watched(file, str(path), lambda: version_of(path), each_read=False)
    else:
        with path.open("rb", buffering=0) as raw:
            yield watch(raw, str(path))


def watch(file: Any, name: str) -> io.BufferedReader:
    """Return what reads from an open file of the operating system, as `open_file` does."""
    try:
        descriptor = file.fileno()
    except OSError:  # it is in memory
        return file  # type: ignore[no-any-return]
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return _watched(file, name, lambda: _version(os.fstat(descriptor)), each_read=True)
    return file if isinstance(file, io.BufferedReader) else io.BufferedReader(file)


def _watched(
    file: Any, name: str, version: Callable[[], Version | None], *, each_read: bool
) -> io.BufferedReader:
    return io.BufferedReader(_Watched(file, name, version, each_read=each_read), _BYTES_AT_ONCE)


class _Watched(io.RawIOBase):
    def __init__(
        self, file: Any, name: str, version: Callable[[], Version | None], *, each_read: bool
    ) -> None:
        self._file, self._name, self._version, self._each_read = file, name, version, each_read
        self._begun = version()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._file.seekable())

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        n_read = int(self._file.readinto(buffer))
        if (not n_read or self._each_read) and (now := self._version()) != self._begun:
            raise _changed(self._name, self._begun, now)
        return n_read


def _version(facts: os.stat_result) -> Version:
    return Version(facts.st_size, facts.st_mtime_ns)


def _changed(name: str, before: Version | None, now: Version | None) -> DataError:
    sizes = [f"{one.size:,} bytes" if one else "nothing" for one in (before, now)]
    how = "same size" if sizes[0] == sizes[1] else f"from {sizes[0]} to {sizes[1]}"
    return DataError(
        f"{name} changed while it was read ({how}); wait until nothing writes to it, or read a copy"
    )
