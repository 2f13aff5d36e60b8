"""State dicts that torch.save pickled, read as floating point tensors and nothing else.

`weights_only` rebuilds tensors and refuses all other code. What is refused or damaged is one
sentence, and no tensor promises more numbers than the file holds.
"""

import re
import warnings
import zipfile
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from elmore.errors import FormatError


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file by their names."""
    if not path.is_file():
        raise FormatError(f"there is no {path}; put it there")
    found = _load(path)
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise FormatError(f"{path} holds a {type(found).__name__}; expected tensors by name")
    for name, tensor in found.items():
        if not _is_plain(tensor):
            raise FormatError(
                f"{path}: {name[:100]} is not a tensor of floating point with all its numbers; "
                "download it again"
            )
    return dict(found)


def _load(path: Path) -> Any:
    try:
        if _is_compressed(path):
            raise FormatError(f"{path} is compressed; expected what torch.save writes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pickles that torch.save did not write
            return torch.load(path, map_location="cpu", weights_only=True)
    except FormatError:
        raise
    except UnpicklingError as error:
        said = " ".join(str(error).split())
        if code := re.search(r"GLOBAL ([\w.]+)", said):
            raise FormatError(
                f"{path} holds code ({code[1][:100]}), which is never run; expected weights only: "
                "download it again, from its publisher"
            ) from None
        reason = said.partition("WeightsUnpickler error: ")[2].partition(" Check the")[0]
        raise _damaged(path, reason) from None
    except Exception as error:  # which one depends on the place of the damage
        raise _damaged(path, f"{type(error).__name__}: {error}") from None


def _is_compressed(path: Path) -> bool:
    """Return whether a part of a zip file is, which torch.save never does."""
    if not zipfile.is_zipfile(path):  # older files are not
        return False
    with zipfile.ZipFile(path) as archive:
        return any(part.compress_type != zipfile.ZIP_STORED for part in archive.infolist())


def _is_plain(tensor: object) -> bool:
    return (
        isinstance(tensor, Tensor)
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and tensor.is_floating_point()
        and tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()
    )


def _damaged(path: Path, reason: str) -> FormatError:
    shown = " ".join(reason.split())[:200]
    return FormatError(
        f"{path} cannot be read as weights that torch.save wrote ({shown}); download it again"
    )
