"""The folder of a trained task: config.json and model.safetensors, strictly read.

It holds the task's own weights, and says which biLM and static vectors they need.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from elmore.errors import ConfigError, FormatError
from elmore.folders import new_folder, read_format, shared_mode, write_json

CONFIG, WEIGHTS = "config.json", "model.safetensors"
FORMAT = "elmore-task-1"


def write_task(folder: Path, content: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
    """Write a folder, whole or not at all."""
    with new_folder(folder) as beside:
        write_json(beside / CONFIG, {"format": FORMAT, **content})
        try:
            save_file(
                {name: value.contiguous() for name, value in weights.items()}, beside / WEIGHTS
            )
            shared_mode(beside / WEIGHTS)  # safetensors makes it private
        except SafetensorError as error:  # such as a full disk
            raise OSError(f"{folder} cannot be written: {error}") from None


def load_weights(folder: Path, network: nn.Module) -> None:
    """Load the saved weights into a network of the same shape."""
    try:
        network.load_state_dict(load_file(folder / WEIGHTS))
    except (SafetensorError, RuntimeError, FileNotFoundError) as error:
        reason = str(error).partition("\n")[0]
        raise FormatError(f"{folder / WEIGHTS} cannot be read ({reason}); copy it again") from None


def read_task_config(folder: Path) -> dict[str, Any]:
    """Read the config of a saved folder."""
    if not (folder / CONFIG).exists():
        raise FormatError(f"{folder} has no {CONFIG}; expected the folder of a trained task")
    return read_format(folder / CONFIG, FORMAT)


def source_of(content: dict[str, Any], kind: str, folder: Path) -> str | None:
    """Return where the vectors were when the task was saved."""
    said = content[kind]
    if said is None:
        return None
    if said["source"] is None:
        raise ConfigError(
            f"{folder} does not say where its {kind} vectors came from; name them: {kind}=…"
        )
    return str(said["source"])


def check_hash(said: dict[str, Any] | None, opened: Any, folder: Path, kind: str) -> None:
    """Refuse vectors that are not those that the task was trained with."""
    if said is not None and opened.fingerprint() != said["hash"]:
        raise FormatError(
            f"{folder} was trained with other {kind} vectors than those of {said['source']!r} now; "
            f"name the right ones: {kind}=…"
        )
