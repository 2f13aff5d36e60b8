"""State dicts that torch.save pickled, read as floating point arrays and nothing else.

No unpickler runs (pickle_instructions.py), and no tensor promises more numbers than the file has.
What is refused or damaged is one sentence.
"""

import zipfile
from collections.abc import Callable
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from elmore.errors import FormatError
from elmore.formats.pickle_instructions import CodeError, StoredNumbers, StoredTensor, describe
from elmore.kernels.library import Array

_ZIP = b"PK\x03\x04"
_MAX_PICKLE_BYTES = 2**24  # of a zip file; it has only names and shapes
_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001  # what older files begin with
_DTYPES: dict[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype("<u2"),  # the upper half of a float32
}


def read_state_dict(path: Path) -> dict[str, Array]:
    """Read the tensors of a file by their names, float32 or float16 as they are stored."""
    if not path.is_file():
        raise FormatError(f"there is no {path}; put it there")
    try:
        with path.open("rb") as file:
            is_zip = file.read(len(_ZIP)) == _ZIP
            file.seek(0)
            return _read_zip(file, path) if is_zip else _read_stream(file, path)
    except FormatError:
        raise
    except CodeError as error:
        raise FormatError(
            f"{path} holds code ({str(error)[:100]}), which is never run; expected weights only: "
            "download it again, from its publisher"
        ) from None
    except Exception as error:  # which one depends on the place of the damage
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        shown = " ".join(reason.split())[:200]
        raise FormatError(
            f"{path} cannot be read as weights that torch.save wrote ({shown}); download it again"
        ) from None


def _read_zip(file: IO[bytes], path: Path) -> dict[str, Array]:
    with zipfile.ZipFile(file) as archive:
        parts = {part.filename: part for part in archive.infolist()}
        if any(part.compress_type != zipfile.ZIP_STORED for part in parts.values()):
            raise FormatError(f"{path} is compressed; expected what torch.save writes")
        (name,) = (name for name in parts if name.endswith("/data.pkl"))
        home = name.removesuffix("data.pkl")
        if parts[name].file_size > _MAX_PICKLE_BYTES:
            raise ValueError("its names and shapes take too much space")
        if f"{home}byteorder" in parts and archive.read(f"{home}byteorder") != b"little":
            raise ValueError("its numbers are big-endian")
        content = describe(BytesIO(archive.read(name)))
        tensors = _tensors(content, path)
        size = path.stat().st_size

        def numbers(storage: StoredNumbers) -> bytes:
            nonlocal size
            raw = archive.read(f"{home}data/{storage.key}")
            size -= len(raw)
            if size < 0:
                raise ValueError("its parts overlap")
            return raw

        return _filled(tensors, numbers, path)


def _read_stream(file: IO[bytes], path: Path) -> dict[str, Array]:
    """Read what torch.save wrote before version 1.6: five pickles, then the numbers."""
    if describe(file) != _MAGIC or describe(file) != _PROTOCOL:
        raise ValueError("it does not begin as such a file does")
    if describe(file)["little_endian"] is not True:
        raise ValueError("its numbers are big-endian")
    tensors = _tensors(describe(file), path)
    kinds = {one.storage.key: one.storage for one in tensors.values()}
    found: dict[str, bytes] = {}
    for key in describe(file):
        n_numbers = int.from_bytes(file.read(8), "little")
        storage = kinds[key]
        if n_numbers != storage.n_numbers:
            raise ValueError(f"it has {n_numbers} numbers of {storage.n_numbers}")
        found[key] = file.read(_n_bytes(storage, path.stat().st_size))
    return _filled(tensors, lambda storage: found[storage.key], path)


def _tensors(content: object, path: Path) -> dict[str, StoredTensor]:
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise FormatError(f"{path} holds a {type(content).__name__}; expected tensors by name")
    for name, tensor in content.items():
        if (
            not isinstance(tensor, StoredTensor)
            or tensor.storage.kind not in _DTYPES
            or prod(tensor.shape) > tensor.storage.n_numbers
        ):
            raise FormatError(
                f"{path}: {name[:100]} is not a tensor of floating point with all its numbers; "
                "download it again"
            )
    return content


def _filled(
    tensors: dict[str, StoredTensor], numbers: Callable[[StoredNumbers], bytes], path: Path
) -> dict[str, Array]:
    """Return the tensors with their numbers, each storage read once."""
    storages: dict[StoredNumbers, Array] = {}
    filled = {}
    for name, one in tensors.items():
        storage = one.storage
        if storage not in storages:
            raw = numbers(storage)
            if len(raw) != _n_bytes(storage, path.stat().st_size):
                raise ValueError(f"{storage.key} has {len(raw)} bytes")
            storages[storage] = np.frombuffer(raw, _DTYPES[storage.kind])
        filled[name] = _array(one, storages[storage])
    return filled


def _array(tensor: StoredTensor, stored: Array) -> Array:
    """Return the numbers that a tensor looks at."""
    if not prod(tensor.shape):
        return np.zeros(tensor.shape, np.float32)
    last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.strides, strict=True))
    if tensor.offset + last >= len(stored):
        raise ValueError(f"a tensor looks at number {tensor.offset + last} of {len(stored)}")
    strides = [step * stored.itemsize for step in tensor.strides]
    view = np.lib.stride_tricks.as_strided(
        stored[tensor.offset :], tensor.shape, strides, writeable=False
    )
    if tensor.storage.kind == "BFloat16Storage":
        return (view.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):  # what overflows is not finite
        return view.astype(np.float16 if view.dtype == np.float16 else np.float32)


def _n_bytes(storage: StoredNumbers, file_size: int) -> int:
    n_bytes = storage.n_numbers * _DTYPES[storage.kind].itemsize
    if not 0 <= n_bytes <= file_size:
        raise ValueError(f"it promises {storage.n_numbers} numbers")
    return n_bytes
