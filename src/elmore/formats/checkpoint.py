"""All that resuming needs, in one file: safetensors, with the numbers in its header.

A file is written beside and renamed, so the one before is whole until the new one is.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from elmore.errors import FormatError
from elmore.folders import sync
from elmore.formats.safetensors_files import sort_header
from elmore.metadata import parse_json

FORMAT = "elmore-checkpoint-1"


@dataclass(frozen=True)
class Checkpoint:
    """A moment of a training run."""

    tensors: Mapping[str, Tensor]
    """Weights, what the optimizer remembers, and the LSTM states of all streams."""
    facts: Mapping[str, Any]
    """The update's number, what was measured so far, and the recipe."""


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; an interrupted write leaves the one before."""
    # In a folder of its own: safetensors makes up names, and a kill leaves what has them.
    beside = path.with_name(f"{path.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    header = {"format": FORMAT, "facts": json.dumps(checkpoint.facts, ensure_ascii=False)}
    tensors = {name: tensor.detach().cpu() for name, tensor in checkpoint.tensors.items()}
    try:
        save_file(tensors, beside / path.name, header)
        sort_header(beside / path.name)
        sync(beside / path.name)
        (beside / path.name).replace(path)
        sync(path.parent)
    except SafetensorError as error:  # such as a full disk
        raise OSError(f"{path} cannot be written: {error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint that `write_checkpoint` wrote."""
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise FormatError(
                    f"{path}: format is {header.get('format')!r}; this version reads {FORMAT!r}"
                )
            # copied: matrix products round by how memory is aligned
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            facts = parse_json(header.get("facts", "").encode(), path)
            return Checkpoint(tensors, facts)
    except SafetensorError as error:
        raise FormatError(
            f"{path} cannot be read ({error}); remove it to begin this run again"
        ) from None
