"""Flags of the commands that read labelled examples: how their files are read."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from cyclopts import Group, Parameter

from elmore.cli import arguments

if TYPE_CHECKING:
    from elmore.tasks import Examples

_EXAMPLES = Group("Examples")


@dataclass(frozen=True, kw_only=True)
class DataFlags:
    """How files of examples are read."""

    format: Annotated[str, Parameter(group=_EXAMPLES)] = "auto"
    """classify: tsv, csv, jsonl, parquet, lines (a label, a space, a text) or trec; tag: conll
    (columns), conllu, wikiann or srl; pair: tsv, csv, jsonl, parquet, snli or sick; answer: squad;
    coref: conll. auto: by the file's name, which must say it."""
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


def read_examples(task: str, path: Path, flags: DataFlags) -> "Examples":
    """Read a file of examples of a task."""
    if task == "tag":
        return read_tags(path, flags)
    from elmore.tasks.catalogue import TASKS

    arguments.check_choice("--format", flags.format, TASKS[task].formats)
    options: dict[str, Any] = {"format": flags.format}
    if task == "classify":
        options |= {"text_field": flags.text_field, "label_field": flags.label_field}
    elif task == "pair":
        options |= {
            "text_fields": (flags.first_field, flags.second_field),
            "label_field": flags.label_field,
        }
    return TASKS[task].read(path, **options)


def read_tags(path: Path, flags: DataFlags) -> "Examples":
    """Read a file of tagged sentences, which needs no torch."""
    from elmore.tasks.readers import TagFormat, read_tagged

    arguments.check_choice("--format", flags.format, TagFormat)
    return read_tagged(
        path,
        format=cast("TagFormat", flags.format),
        token_column=flags.token_column,
        tag_column=flags.tag_column,
    )
