"""safetensors files, read so that every failure is one sentence. Their tensors are floating point.

The library holds a header against the file's size before it reads anything.
"""

import json
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from elmore.errors import FormatError

_DTYPES = {"F64", "F32", "F16", "BF16"}


def read_safetensors(
    path: Path, framework: Literal["pt", "np"], *, fix: str = "copy or download it again"
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the header's own words and the tensors, by name."""
    try:
        with safe_open(path, framework) as file:
            names = list(file.keys())
            for name in names:
                if (dtype := file.get_slice(name).get_dtype()) not in _DTYPES:
                    raise FormatError(f"{path}: {name} holds {dtype}; expected floating point")
            return file.metadata() or {}, {name: file.get_tensor(name) for name in names}
    except (SafetensorError, ValueError, TypeError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path} cannot be read ({reason}); {fix}") from None


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
