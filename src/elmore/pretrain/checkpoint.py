"""All that resuming needs, in one file: safetensors, with the numbers in its header.

A file is written beside and renamed, so the one before is whole until the new one is. Its header
has a checksum of all arrays and facts, which is verified when it is read.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from elmore.errors import FormatError
from elmore.folders import sync
from elmore.formats.safetensors_files import sort_header
from elmore.kernels.library import Array
from elmore.metadata import parse_json

FORMAT = "elmore-checkpoint-2"


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a training run."""

    arrays: Mapping[str, Array]
    """Weights, what the optimizer remembers, and the LSTM states of all streams."""
    facts: Mapping[str, Any]
    """The update's number, what was measured so far, and the recipe."""
    has_checksum: bool = False
    """Whether the file that it was read from has one."""


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; an interrupted write leaves the one before."""
    # In a folder of its own: safetensors makes up names, and a kill leaves what has them.
    beside = _beside(path)
    remove_unfinished_checkpoint(path)
    beside.mkdir()
    facts = json.dumps(checkpoint.facts, ensure_ascii=False)
    arrays = {name: np.asarray(array, order="C") for name, array in checkpoint.arrays.items()}
    header = {"format": FORMAT, "facts": facts, "checksum": _checksum(facts, arrays)}
    try:
        save_file(arrays, beside / path.name, header)
        sort_header(beside / path.name)
        sync(beside / path.name)
        (beside / path.name).replace(path)
        sync(path.parent)
    except SafetensorError as error:  # such as a full disk
        raise OSError(f"{path} cannot be written: {error}") from None
    finally:
        remove_unfinished_checkpoint(path)


def remove_unfinished_checkpoint(path: Path) -> None:
    """Remove what a killed program left of writing a checkpoint; the checkpoint itself stays."""
    shutil.rmtree(_beside(path), ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def read_checkpoint(path: Path, *, fix: str = "remove it to begin this run again") -> Checkpoint:
    """Read a checkpoint that `write_checkpoint` wrote; `fix` says what to do without it.

    A run may write the next one meanwhile.
    """
    while True:
        before = _version(path)
        try:
            return _read(path, fix)
        except FormatError:
            # the library opens a file twice: the header of one and the tensors of the next
            if _version(path) == before:
                raise


def _version(path: Path) -> tuple[int, int]:
    """Return what changes when a file is replaced."""
    status = path.stat()
    return status.st_ino, status.st_mtime_ns


def _read(path: Path, fix: str) -> Checkpoint:
    try:
        with safe_open(path, "np") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise FormatError(
                    f"{path}: format is {header.get('format')!r}, and this version reads "
                    f"{FORMAT!r}; {fix}"
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, TypeError, OverflowError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path} cannot be read ({reason}); {fix}") from None
    if unknown := header.keys() - {"format", "facts", "checksum"}:
        raise FormatError(f"{path} is damaged: its header has {', '.join(sorted(unknown))}; {fix}")
    facts = header.get("facts", "")
    if "checksum" in header and header["checksum"] != _checksum(facts, arrays):
        raise FormatError(f"{path} is damaged: its checksum does not match its content; {fix}")
    return Checkpoint(arrays, parse_json(facts.encode(), path), "checksum" in header)


def _checksum(facts: str, arrays: Mapping[str, Array]) -> str:
    """Return the checksum of all that a checkpoint holds (XXH3, 128 bits)."""
    digest = xxhash.xxh3_128(facts.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
