"""Flags of the commands for tasks: how examples are read, and every setting of a task."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from docstring_parser import parse_from_object

from elmore.cli import arguments
from elmore.errors import ConfigError
from elmore.tasks import Examples
from elmore.tasks.catalogue import TASKS
from elmore.tasks.estimator import TaskModel
from elmore.tasks.settings import TaskSettings

Task = Literal["classify", "tag", "pair", "answer", "coref"]

_EXAMPLES = Group("Examples")
_SETTINGS = Group("Settings")


@dataclass(frozen=True, kw_only=True)
class DataFlags:
    """How files of examples are read."""

    format: Annotated[str, Parameter(group=_EXAMPLES)] = "auto"
    """classify: tsv, csv, jsonl, lines (a label, a space, a text) or trec; tag: conll, conllu,
    wikiann or srl; pair: tsv, csv, jsonl, snli or sick; answer: squad; coref: conll. auto: by the
    file's name."""
    text_field: Annotated[str, Parameter(group=_EXAMPLES)] = "text"
    """classify: the column or field of the text."""
    label_field: Annotated[str, Parameter(group=_EXAMPLES)] = "label"
    """classify, pair: the column or field of the label."""
    first_field: Annotated[str, Parameter(group=_EXAMPLES)] = "sentence1"
    """pair: the column or field of the first text."""
    second_field: Annotated[str, Parameter(group=_EXAMPLES)] = "sentence2"
    """pair: the column or field of the second text."""
    token_column: Annotated[int, Parameter(group=_EXAMPLES)] = 0
    """tag: the column of the token, counted from 0, or from the end if negative."""
    tag_column: Annotated[int, Parameter(group=_EXAMPLES)] = -1
    """tag: the column of the tag, counted likewise."""


DEFAULT_DATA = DataFlags()


def read_examples(task: str, path: Path, flags: DataFlags) -> Examples:
    """Read a file of examples of a task."""
    arguments.check_choice("--format", flags.format, TASKS[task].formats)
    options: dict[str, Any] = {"format": flags.format}
    if task == "classify":
        options |= {"text_field": flags.text_field, "label_field": flags.label_field}
    elif task == "tag":
        options |= {"token_column": flags.token_column, "tag_column": flags.tag_column}
    elif task == "pair":
        options |= {
            "text_fields": (flags.first_field, flags.second_field),
            "label_field": flags.label_field,
        }
    return TASKS[task].read(path, **options)


def _flags() -> type:
    """Return a dataclass with a flag for each setting, none of them given."""
    models = [kind.model for kind in TASKS.values()]
    docs = {
        doc.arg_name: doc.description or ""
        for described in (*models, TaskSettings)
        for doc in parse_from_object(described).params
    }
    fields = []
    for field in {
        field.name: field for cls in models for field in dataclasses.fields(cls)
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


def new_task(task: str, elmo: str, static: Path | None, settings: Any) -> TaskModel:
    """Return a task with the settings that were given."""
    cls = TASKS[task].model
    known = {field.name for field in dataclasses.fields(cls)}
    given = {name: value for name, value in vars(settings).items() if value is not None}
    if unknown := given.keys() - known:
        flag = f"--{min(unknown).replace('_', '-')}"
        raise ConfigError(f"{flag} is not a setting of {task}; leave it out")
    if given.get("split_sentences") == "none":
        given["split_sentences"] = None
    return cls(elmo=None if elmo == "none" else elmo, static=static, **given)
