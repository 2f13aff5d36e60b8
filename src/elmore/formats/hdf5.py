"""Arrays in HDF5 files, read and written so that every failure is an error and never a crash."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from elmore.bilm_config import Shape
from elmore.errors import FormatError
from elmore.kernels.library import Array

# What h5py raises for a damaged file depends on the place of the damage.
_DAMAGE = (OSError, RuntimeError, LookupError, ValueError, TypeError, OverflowError, MemoryError)

# Weights hardly compress, and a compressed array of this size may hold anything.
_MOST_COMPRESSED, _SMALL = 100, 2**20


def holds(path: Path, name: str) -> bool:
    """Return whether a file has a group or dataset of this name at its top."""
    with _open(path) as file:
        try:
            return name in file.keys()  # noqa: SIM118  no link is followed
        except _DAMAGE as error:
            raise _damaged(path, error) from None


class Hdf5File:
    """A file that is being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _open(path)

    def shapes(self) -> dict[str, Shape]:
        """Return the shape of each dataset by its full path, before anything is read."""
        try:
            return {name: item.shape for name, item in _datasets(self._file, self.path)}
        except _DAMAGE as error:
            raise _damaged(self.path, error) from None

    def arrays(self) -> dict[str, Array]:
        """Read every dataset as float32, by its full path."""
        try:
            with np.errstate(over="ignore"):  # what overflows is not finite
                return {
                    name: np.asarray(item, dtype=np.float32)
                    for name, item in _datasets(self._file, self.path)
                }
        except _DAMAGE as error:
            raise _damaged(self.path, error) from None

    def __enter__(self) -> "Hdf5File":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _datasets(file: Any, path: Path) -> Iterator[tuple[str, Any]]:
    """Give the datasets whose numbers are in this file, refusing all that leads out of it."""
    import h5py  # noqa: PLC0415  it takes longer to import than a model to load

    seen = set()
    groups = [("", file)]
    while groups:
        above, group = groups.pop()
        for key in group:
            name = f"{above}{key}"
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                raise FormatError(f"{path}: {name} is a link; expected the array itself")
            item = group[key]
            if item in seen:
                raise FormatError(f"{path} has {name} twice; copy it again")
            seen.add(item)
            if isinstance(item, h5py.Dataset):
                _check_dataset(item, name, path)
                yield name, item
            elif isinstance(item, h5py.Group):
                groups.append((f"{name}/", item))


def _check_dataset(item: Any, name: str, path: Path) -> None:
    if item.shape is None or item.dtype.kind != "f":
        raise FormatError(f"{path}: {name} holds {item.dtype}; expected floating point")
    if item.external or item.is_virtual:
        raise FormatError(f"{path}: {name} is in another file; expected its numbers in this one")
    stored = min(item.id.get_storage_size(), path.stat().st_size)
    most = stored if item.chunks is None else max(stored * _MOST_COMPRESSED, _SMALL)
    if item.size * item.dtype.itemsize > most or (item.size and not stored):
        raise FormatError(
            f"{path}: {name} promises {item.size:,} numbers, but the file has {stored:,} bytes of "
            "them; copy it again"
        )


class NewHdf5:
    """A file that is being written. A full disk is an OSError at the next `add` or `close`."""

    def __init__(self, path: Path) -> None:
        import h5py  # noqa: PLC0415  it takes longer to import than a model to load

        self._raw = _PatientFile(path, "w+")
        self._file = h5py.File(self._raw, "w")

    def add(self, name: str, array: Any) -> None:
        """Write one dataset."""
        self._file.create_dataset(name, data=array)
        self._check()

    def close(self) -> None:
        """Finish the file; closing again does nothing."""
        self._file.close()
        self._raw.close()
        self._check()

    def _check(self) -> None:
        if self._raw.error is not None:
            raise self._raw.error

    def __enter__(self) -> "NewHdf5":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _PatientFile(io.FileIO):
    """Keeps its first error instead of raising it: HDF5 crashes if a write fails under it."""

    error: OSError | None = None

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        written = 0
        try:
            while self.error is None and written < len(view):
                written += super().write(view[written:]) or 0
        except OSError as error:
            self.error = error
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        try:
            if self.error is None:
                return super().truncate(size)
        except OSError as error:
            self.error = error
        return size or 0


def _open(path: Path) -> Any:
    import h5py  # noqa: PLC0415  it takes longer to import than a model to load

    if not path.is_file():
        raise FormatError(f"there is no file {path}")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise FormatError(f"{path} is not a whole HDF5 file ({error}); copy it again") from None


def _damaged(path: Path, error: Exception) -> FormatError:
    return FormatError(f"{path} cannot be read ({error}); copy it again")
