"""The folder of a trained task: config.json and model.safetensors, strictly read.

It holds the task's own weights, and says which biLM and static vectors they need. config.json has a
checksum of its own and that of the weights. A biLM that was adapted to the task's texts is in it, a
model folder of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import torch
from msgspec import Meta, Struct
from msgspec.structs import replace
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from elmore.checksums import (
    CheckedFile,
    FileRecord,
    check_file,
    check_names,
    describe_file,
    read_checked,
    verify_files,
)
from elmore.embed import Elmo
from elmore.errors import ConfigError, FormatError
from elmore.folders import new_folder, shared_mode, write_json
from elmore.formats.native import verify_native
from elmore.formats.safetensors_files import parse_safetensors
from elmore.metadata import read_metadata
from elmore.tasks.input_list import InputKind, restored_input
from elmore.tasks.inputs import Input
from elmore.tasks.settings import TaskName

CONFIG, WEIGHTS = "config.json", "model.safetensors"
BILM = "bilm"
"""The folder of a biLM that was adapted to the task's texts."""
FORMAT: Literal["elmore-task-1"] = "elmore-task-1"

_FIX = "copy the task again, or train it again"
_MAX_LABELS = 2**16
_Whole = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_ANY_LABELS = ("classify", "pair")
"""The tasks whose labels may be whole numbers or booleans; those of others are strings."""
_RENAMED = {  # the first part of the names of weights, as earlier versions wrote them
    "tokens.input_mix.": "tokens.parts.elmo.mixes.input.",
    "tokens.output_mix.": "tokens.parts.elmo.mixes.output.",
    "tokens.bilm.": "tokens.parts.elmo.bilm.",
    "spell.": "tokens.parts.chars.spell.",
    "convolve.": "tokens.parts.chars.convolve.",
}


class VectorsOrigin(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the biLM or the static vectors of a task were."""

    source: str | None
    hash: str


class SavedInput(Struct, frozen=True, forbid_unknown_fields=True):
    """One of the list of inputs."""

    kind: InputKind
    vectors: VectorsOrigin | None
    options: dict[str, Any]


class TaskFile(Struct, frozen=True, forbid_unknown_fields=True):
    """config.json."""

    format: Literal["elmore-task-1"]
    task: TaskName
    settings: dict[str, Any]
    """Those of the task's class (`TaskSettings.read_settings`)."""
    labels: Annotated[list[str | _Whole | bool], Meta(max_length=_MAX_LABELS)]
    """What the task's answers have learned (`Answers.labels`)."""
    elmo: VectorsOrigin | None
    static: VectorsOrigin | None
    inputs: list[SavedInput] = []
    files: dict[str, FileRecord] | None = None
    """The data files beside it; tasks of earlier versions do not say."""
    checksum: str | None = None

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            raise ConfigError("labels has a label twice; expected each once")
        kinds = {type(label) for label in self.labels}
        if len(kinds) > 1:
            raise ConfigError("labels has values of several types; expected one")
        if not kinds <= {str} and self.task not in _ANY_LABELS:
            raise ConfigError(f"labels has {self.labels[0]!r}; expected strings")


def write_task(
    folder: Path, content: TaskFile, weights: Mapping[str, Tensor], adapted: Elmo | None = None
) -> None:
    """Write a folder, whole or not at all; with the biLM in it if that was adapted."""
    with new_folder(folder) as beside:
        if adapted is not None:
            adapted.save_pretrained(beside / BILM)
        try:
            save_file(
                {name: value.contiguous() for name, value in weights.items()}, beside / WEIGHTS
            )
            shared_mode(beside / WEIGHTS)  # safetensors makes it private
        except SafetensorError as error:  # such as a full disk
            raise OSError(f"{folder} cannot be written: {error}") from None
        files = {WEIGHTS: describe_file(beside / WEIGHTS)}
        write_json(beside / CONFIG, replace(content, files=files))


def read_task_config(folder: Path) -> TaskFile:
    """Read the config of a saved folder."""
    path = folder / CONFIG
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise FormatError(f"{folder} {what}; expected the folder of a trained task (elmore train)")
    if not path.exists():
        raise FormatError(f"{folder} has no {CONFIG}; expected the folder of a trained task")
    found = read_metadata(path, TaskFile, fix=_FIX)
    check_names(found.files or {}, path)
    return found


def read_weights(folder: Path, config: TaskFile, *, verify: bool = True) -> dict[str, Tensor]:
    """Read the saved weights; they must be finite and, unless `verify` is false, undamaged."""
    path = folder / WEIGHTS
    if not path.is_file():
        raise FormatError(f"{folder} has {CONFIG} but no {WEIGHTS}; {_FIX}")
    records = config.files or {} if verify else {}
    for name in records.keys() - {WEIGHTS}:
        check_file(folder / name, records[name], fix=_FIX)
    content = read_checked(path, records.get(WEIGHTS), fix=_FIX)
    _, arrays = parse_safetensors(content, path, fix=_FIX)
    for name, array in arrays.items():
        is_zero = np.isneginf(array) & name.endswith(".w")  # a mix has logarithms of its weights
        if not (np.isfinite(array) | is_zero).all():
            raise FormatError(f"{path}: {name} has weights that are not finite; {_FIX}")
    # Copied into memory of torch's own alignment: matrix products round by how memory is aligned.
    return {
        _new_name(name): torch.from_numpy(array.astype(np.float32)).clone()
        for name, array in arrays.items()
        if ".bilm.softmax." not in name  # earlier versions wrote it, and no task needs it
    }


def _new_name(name: str) -> str:
    for old, new in _RENAMED.items():
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name


def verify_task(folder: Path) -> Iterator[CheckedFile]:
    """Check every file of a task: against its checksum if it has one, and by reading it."""
    content = read_task_config(folder)
    files = content.files or {}
    found = list(verify_files(folder, files))
    if WEIGHTS not in files:
        problem = None
        try:
            read_weights(folder, content)
        except FormatError as error:
            problem = str(error)
        found.append(CheckedFile(WEIGHTS, False, problem))
    yield CheckedFile(CONFIG, content.checksum is not None)
    yield from found
    if adapted_bilm(folder) is not None:
        for one in verify_native(folder / BILM):
            yield one._replace(name=f"{BILM}/{one.name}")


def origin_of(opened: Input | None) -> VectorsOrigin | None:
    """Return where the vectors of an input came from, if it has any."""
    known_by = None if opened is None else opened.fingerprint()
    if opened is None or known_by is None:
        return None
    return VectorsOrigin(opened.source_name, known_by)


def saved_inputs(opened: Sequence[Input]) -> list[SavedInput]:
    """Return what is saved of the list of inputs."""
    return [SavedInput(one.kind, origin_of(one), one.options()) for one in opened]  # type: ignore[arg-type]


def restored_inputs(content: TaskFile, folder: Path) -> list[Input]:
    """Return the list of inputs that a task was saved with."""
    found = []
    for number, said in enumerate(content.inputs):
        has_vectors = said.vectors is not None
        if has_vectors == (said.kind == "chars") or "source" in said.options:
            raise FormatError(
                f"{folder / CONFIG}: inputs[{number}] is no input that is saved; {_FIX}"
            )
        if said.kind == "vectors":
            raise ConfigError(
                f"inputs[{number}] of {folder} is an object that is not saved with it; give all "
                "inputs again: inputs=[…]"
            )
        source = source_of(said.vectors, f"inputs[{number}]", folder)
        options = said.options if source is None else {**said.options, "source": source}
        try:
            found.append(restored_input(said.kind, options, f"inputs[{number}].options"))
        except ConfigError as error:
            raise FormatError(f"{folder / CONFIG}: {error}") from None
    return found


def check_inputs(said: Sequence[SavedInput], opened: Sequence[Input], folder: Path) -> None:
    """Refuse inputs that are not those that the task was trained with."""
    if [one.kind for one in said] != [one.kind for one in opened]:
        kinds = ", ".join(one.kind for one in said) or "none"
        raise ConfigError(f"{folder} was trained with the inputs {kinds}; give these: inputs=[…]")
    for number, (one, own) in enumerate(zip(said, opened, strict=True)):
        if one.options != msgspec.to_builtins(own.options()):
            raise ConfigError(
                f"inputs[{number}] has the options {own.options()}; {folder} was trained with "
                f"{one.options}"
            )
        check_hash(one.vectors, own, folder, f"inputs[{number}]")


def adapted_bilm(folder: Path) -> Path | None:
    """Return the folder of the biLM that was adapted to the task, if it was."""
    return folder / BILM if (folder / BILM).is_dir() else None


def source_of(said: VectorsOrigin | None, kind: str, folder: Path) -> str | None:
    """Return where the vectors were when the task was saved; nothing is downloaded unasked."""
    if said is None:
        return None
    if said.source is None:
        raise ConfigError(
            f"{folder} does not say where its {kind} vectors came from; name them: {_given(kind)}"
        )
    if said.source.startswith("hf://"):
        raise ConfigError(
            f"the {kind} vectors of {folder} would be downloaded from {said.source}; to allow "
            f"that, name them: {_given(kind, said.source)}"
        )
    return said.source


def _given(kind: str, source: str | None = None) -> str:
    """Return how a user names vectors: those of a list of inputs all at once."""
    if kind.startswith("inputs"):
        return "inputs=[…]"
    return f"{kind}=…" if source is None else f'{kind}="{source}" (--{kind} {source})'


def check_hash(said: VectorsOrigin | None, opened: Input | None, folder: Path, kind: str) -> None:
    """Refuse vectors that are not those that the task was trained with."""
    if said is not None and opened is not None and opened.fingerprint() != said.hash:
        raise FormatError(
            f"{folder} was trained with other {kind} vectors than those of {said.source!r} now; "
            f"name the right ones: {_given(kind)}"
        )
