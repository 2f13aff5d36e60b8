"""safetensors files, read so that every failure is one sentence. Their arrays are floating point.

The library holds a header against the file's size before it reads anything.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, deserialize

from elmore.errors import FormatError
from elmore.kernels.library import Array

_DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}


def parse_safetensors(
    content: bytes, path: Path, *, fix: str = "copy or download it again"
) -> tuple[dict[str, str], dict[str, Array]]:
    """Return the header's own words and the arrays, by name, of the bytes of a file.

    Arrays are float16 where they are stored so, and float32 otherwise. They are read-only.
    """
    try:
        found = deserialize(content)  # type: ignore[no-untyped-call]
        size = int.from_bytes(content[:8], "little")
        words = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    except (SafetensorError, ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path} cannot be read ({reason}); {fix}") from None
    return words, {name: _array(name, tensor, path) for name, tensor in found}


def _array(name: str, tensor: dict[str, Any], path: Path) -> Array:
    if (dtype := tensor["dtype"]) not in _DTYPES:
        raise FormatError(f"{path}: {name} holds {dtype}; expected floating point")
    stored = np.frombuffer(tensor["data"], _DTYPES[dtype]).reshape(tensor["shape"])
    stored.setflags(write=False)  # several may share it
    if dtype == "BF16":  # the upper half of a float32
        return (stored.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):  # what overflows is not finite
        return stored.astype(np.float32) if dtype == "F64" else stored


def sort_header(path: Path) -> None:
    """Put a header's own words in order; the library's is random, and so would be the checksum."""
    with path.open("r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        content = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        assert len(content) <= size
        file.seek(8)
        file.write(content.ljust(size))
