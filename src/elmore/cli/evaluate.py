"""`elmore evaluate`: the scores of a trained task on examples."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmore.cli.example_flags import DEFAULT_DATA, DataFlags, read_examples
from elmore.cli.terminal import TextConsole, is_terminal, print_json


def evaluate(
    model: Path,
    examples: Path,
    /,
    *,
    elmo: str | None = None,
    static: Path | None = None,
    data: Annotated[DataFlags, Parameter(name="*")] = DEFAULT_DATA,
) -> None:
    """Evaluate a trained task: its score, and the scores and confusion matrix of its labels.

    A table on a terminal, JSON in a pipe.

    Parameters
    ----------
    model
        The folder of a trained task.
    examples
        A file of labelled examples.
    elmo
        Where the biLM is, if it has moved.
    static
        Where the static vectors are, if they have moved.
    """
    from elmore.tasks.catalogue import TASKS
    from elmore.tasks.saved import read_task_config

    task = read_task_config(model).task
    read = read_examples(task, examples, data)
    found = TASKS[task].model.load(model, elmo=elmo, static=static).evaluate(read)
    if is_terminal():
        _print(found)
    else:
        print_json(dataclasses.asdict(found))


def _print(found: Any) -> None:
    from rich.table import Table

    from elmore.tasks.metrics import LabelEvaluation

    console = TextConsole()
    shares = found.figures()
    console.print(", ".join(f"{name} {100 * share:.2f}" for name, share in shares.items()))
    if not isinstance(found, LabelEvaluation):
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("label")
    for column in ("precision", "recall", "F1", "examples"):
        table.add_column(column, justify="right")
    for label, score in found.classes.items():
        figures = (score.precision, score.recall, score.f1)
        table.add_row(label, *(f"{100 * figure:.1f}" for figure in figures), f"{score.support:,}")
    console.print(table)
    labels = list(found.classes)
    if found.confusion and len(labels) <= 20:
        table = Table(box=None, pad_edge=False, title="rows: right label, columns: predicted")
        for column in ("", *labels):
            table.add_column(column, justify="right")
        for label in labels:
            row = found.confusion.get(label, {})
            table.add_row(label, *(str(row.get(other, 0)) for other in labels))
        console.print(table)
