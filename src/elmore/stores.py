"""Addresses in, files on any store out: a local `Path`, or a `RemotePath` of fsspec.

A name without a scheme and file:// are local. Anything else with one (s3://, gs://, hdfs://,
memory://, …) is what fsspec knows, with the credentials and endpoints that fsspec finds in its
configuration and the environment. A `RemotePath` has the part of pathlib's interface that the
readers and writers here use. Below everything but errors.
"""

import io
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from elmore.errors import ConfigError, DataError

T = TypeVar("T")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_LOCAL = ("file://", "local://")
_BYTES_AT_ONCE = 2**22  # that are fetched for a read


_CHANGED = (  # what stores call that which changes with a file
    "ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "updated", "created",
)  # fmt: skip


class RemoteStat(NamedTuple):
    """What a store says of a file now."""

    st_size: int
    """Under the name that pathlib has for it."""
    changed: str
    """What differs when the file has changed; empty where the store does not say."""


class RemotePath:
    """A file or a folder at an address of fsspec."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        _ = self.at  # an address that cannot be is refused at once

    @cached_property
    def at(self) -> tuple[Any, str]:
        """The file system of fsspec, and the path in it."""
        import fsspec  # noqa: PLC0415  commands that read local files do without

        try:
            fs, path = fsspec.core.url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise ConfigError(
                f"{self.address} is at no store that is known here: {error}"
            ) from None
        return fs, str(path)

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return type(self), (self.address,)

    def __str__(self) -> str:
        return self.address

    def __repr__(self) -> str:
        return f"RemotePath({self.address!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(f"{self.address}/{name}")

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.address.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """What follows the last dot of the name, with the dot."""
        return Path(self.name).suffix

    def exists(self) -> bool:
        """Whether there is a file or a folder now."""

        def found(fs: Any, path: str) -> bool:
            fs.invalidate_cache(path)  # another program may have made or replaced it
            return bool(fs.exists(path))

        return self._call(found)

    def is_file(self) -> bool:
        """Whether there is a file."""
        return self._call(lambda fs, path: bool(fs.isfile(path)))

    def is_dir(self) -> bool:
        """Whether there is a folder: a prefix of files, on an object store."""
        return self._call(lambda fs, path: bool(fs.isdir(path)))

    def stat(self) -> RemoteStat:
        """Return the size of a file, and what tells its content from another."""

        def found(fs: Any, path: str) -> RemoteStat:
            fs.invalidate_cache(path)
            said = fs.info(path)
            changed = [str(said[name]) for name in _CHANGED if said.get(name) is not None]
            return RemoteStat(int(said["size"]), " ".join(changed))

        return self._call(found)

    def open(self, mode: str = "rb", buffering: int = -1) -> IO[bytes]:
        """Open a file for reading."""
        assert mode == "rb"
        raw = self._call(lambda fs, path: fs.open(path, "rb", block_size=_BYTES_AT_ONCE))
        return io.BufferedReader(raw)  # whose readline takes a limit

    def write_bytes(self, content: bytes) -> None:
        """Write a whole small file."""
        self._call(lambda fs, path: fs.pipe_file(path, content))

    def upload(self, local: Path) -> None:
        """Write a file from one on the local disk."""
        self._call(lambda fs, path: fs.put_file(str(local), path))

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        if not missing_ok or self.exists():
            self._call(lambda fs, path: fs.rm_file(path))

    def names(self) -> list[str]:
        """Return the names of what is in a folder, as it is now."""

        def listed(fs: Any, path: str) -> list[str]:
            fs.invalidate_cache(path)
            try:  # isdir would answer no when the store cannot be reached
                found = fs.ls(path, detail=False)
            except FileNotFoundError:
                return []
            return sorted({str(one).rstrip("/").rpartition("/")[2] for one in found} - {""})

        return self._call(listed)

    def remove_folder(self) -> None:
        """Remove a folder with all that is in it, if it is there."""

        def remove(fs: Any, path: str) -> None:
            if fs.exists(path):
                fs.rm(path, recursive=True)

        self._call(remove)

    def matches(self) -> "list[RemotePath]":
        """Return the files that the address names with * and ?, in alphabetical order."""

        def found(fs: Any, path: str) -> list[str]:
            fs.invalidate_cache()
            return [fs.unstrip_protocol(one) for one in fs.glob(path)]

        return [RemotePath(one) for one in sorted(self._call(found))]

    def _call(self, what: Callable[[Any, str], T]) -> T:
        fs, path = self.at
        try:
            return what(fs, path)
        except FileNotFoundError:
            raise DataError(f"{self.address} does not exist; check the address") from None
        except Exception as error:  # each store has its own
            reason = " ".join(str(error).split()) or type(error).__name__
            raise DataError(
                f"{self.address} cannot be used ({reason}); check the address and the credentials"
            ) from None


AnyPath = Path | RemotePath


def is_address(given: str) -> bool:
    """Return whether a text is an address with a scheme, such as s3://bucket/file."""
    return _SCHEME.match(given) is not None


def as_path(given: str | AnyPath) -> AnyPath:
    """Return where a name or an address leads."""
    if isinstance(given, str):
        for scheme in _LOCAL:
            given = given.removeprefix(scheme)
        return RemotePath(given) if is_address(given) else Path(given)
    return given


def as_paths(given: Sequence[str | AnyPath]) -> list[AnyPath]:
    """Return where names and addresses lead; in addresses, * and ? are expanded.

    The shell expands them in local names.
    """
    found: list[AnyPath] = []
    for one in given:
        path = as_path(one)
        if isinstance(path, RemotePath) and re.search(r"[*?]", path.address):
            matches = path.matches()
            if not matches:
                raise DataError(f"no file matches {path}; check the address")
            found += matches
        else:
            found.append(path)
    return found
