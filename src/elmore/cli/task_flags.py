"""Flags of the commands that train tasks: every setting of a task."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from docstring_parser import parse_from_object

from elmore.cli import arguments
from elmore.errors import ConfigError
from elmore.tasks.settings import SETTINGS, TaskName, TaskSettings

if TYPE_CHECKING:
    from elmore.tasks.estimator import TaskModel

_SETTINGS = Group("Settings")


def _flags() -> type:
    """Return a dataclass with a flag for each setting, none of them given."""
    docs = {
        doc.arg_name: doc.description or ""
        for described in (*SETTINGS.values(), TaskSettings)
        for doc in parse_from_object(described).params
    }
    fields = []
    for field in {
        field.name: field for cls in SETTINGS.values() for field in dataclasses.fields(cls)
    }.values():
        if field.name in ("elmo", "static"):
            continue
        options: dict[str, Any] = {"help": " ".join(docs[field.name].split()), "group": _SETTINGS}
        kind: Any = field.type
        if field.name == "layers":
            options["converter"], kind = arguments.one_layer, Literal["mix", "top"] | int
        elif field.name == "cache":
            kind = Path
        elif field.name == "inputs":
            kind = list[str]
        elif kind is int:
            options["converter"] = arguments.whole_number
        fields.append((field.name, Annotated[kind | None, Parameter(**options)], None))
    made = dataclasses.make_dataclass("TaskFlags", fields, frozen=True, kw_only=True)
    made.__module__ = __name__
    return made


TaskFlags = _flags()
NO_FLAGS = TaskFlags()


def new_task(task: TaskName, elmo: str, static: Path | None, settings: Any) -> "TaskModel":
    """Return a task with the settings that were given."""
    from elmore.tasks.catalogue import TASKS

    known = {field.name for field in dataclasses.fields(SETTINGS[task])}
    given = {name: value for name, value in vars(settings).items() if value is not None}
    if unknown := given.keys() - known:
        flag = f"--{min(unknown).replace('_', '-')}"
        raise ConfigError(f"{flag} is not a setting of {task}; leave it out")
    if given.get("split_sentences") == "none":
        given["split_sentences"] = None
    return TASKS[task].model(elmo=None if elmo == "none" else elmo, static=static, **given)
