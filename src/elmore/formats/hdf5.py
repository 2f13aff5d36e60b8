"""Arrays in HDF5 files, read and written so that every failure is an error and never a crash."""

import io
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from elmore.errors import FormatError

Array = npt.NDArray[np.float32]

# What h5py raises for a damaged file depends on the place of the damage.
_DAMAGE = (OSError, RuntimeError, KeyError, ValueError)


def holds(path: Path, name: str) -> bool:
    """Return whether a file has a group or dataset of this name at its top."""
    with _open(path) as file:
        try:
            return name in file
        except _DAMAGE as error:
            raise _damaged(path, error) from None


def read_arrays(path: Path) -> dict[str, Array]:
    """Read every dataset of a file as float32, by its full path."""
    arrays: dict[str, Array] = {}

    def read(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            if item.shape is None or item.dtype.kind != "f":
                raise FormatError(f"{path}: {name} holds {item.dtype}; expected floating point")
            arrays[name] = np.asarray(item, dtype=np.float32)

    with _open(path) as file:
        try:
            file.visititems(read)
        except _DAMAGE as error:
            raise _damaged(path, error) from None
    return arrays


class NewHdf5:
    """A file that is being written. A full disk is an OSError at the next `add` or `close`."""

    def __init__(self, path: Path) -> None:
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
    if not path.is_file():
        raise FormatError(f"there is no file {path}")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise FormatError(f"{path} is not a whole HDF5 file ({error}); copy it anew") from None


def _damaged(path: Path, error: Exception) -> FormatError:
    return FormatError(f"{path} cannot be read ({error}); copy it anew")
