"""What the measurements on tasks share: their arguments, and a task with its examples."""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from elmore.errors import ConfigError
from elmore.tasks import Examples
from elmore.tasks.catalogue import TASKS
from elmore.tasks.compare import compare, summarize
from elmore.tasks.estimator import TaskModel
from paper.report import Results


@dataclass(frozen=True)
class Task:
    """A task that has learned nothing yet, and its examples."""

    model: TaskModel
    train: Examples
    dev: Examples


def task_arguments(description: str | None) -> ArgumentParser:
    """Return a parser of what every measurement on a task needs."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--dev", type=Path, help="without it some of the others are kept back")
    parser.add_argument("--format", default="auto", help="of the files; as in elmore train")
    parser.add_argument("--model", default="en", help="a bundled name or a model folder")
    parser.add_argument("--text-field", help="of the texts to classify; as in elmore train")
    parser.add_argument("--static", type=Path, help="static vectors")
    parser.add_argument("--n-seeds", type=int, default=3)
    parser.add_argument("--n-epochs", type=int, default=20)
    parser.add_argument("--max-train", type=int, help="learn from so many examples only")
    parser.add_argument("--max-dev", type=int, help="measure on so many examples only")
    parser.add_argument(
        "--settings", nargs="+", metavar="NAME=VALUE", help="other settings of the task"
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder of the comparison")
    parser.add_argument("--json", type=Path, help="where to write the table as JSON")
    return parser


def read_task(given: Namespace) -> Task:
    """Return the task that the command line names."""
    kind = TASKS[given.task]
    settings = {"n_epochs": given.n_epochs, **_settings(kind.model, given.settings or ())}
    model = kind.model(given.model, given.static, **settings)
    options = {"format": given.format}
    if given.text_field is not None:
        options["text_field"] = given.text_field
    read = partial(kind.read, **options)
    train = read(given.train)
    if given.dev is None:
        train, dev = model.hold_out(train)
    else:
        dev = read(given.dev)
    return Task(model, train.at_most(given.max_train), dev.at_most(given.max_dev))


def _settings(model: type[TaskModel], given: Sequence[str]) -> dict[str, Any]:
    """Return the settings that are given as NAME=VALUE, each of its type."""
    kinds = {field.name: field.type for field in fields(model)}
    found = {}
    for one in given:
        name, _, value = one.partition("=")
        if name not in kinds:
            raise ConfigError(f"{model.task} has no setting {name!r}; see elmore train --help")
        try:
            found[name] = msgspec.convert(value, kinds[name], strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{name} is {value!r} ({error})") from None
    return found


def compare_beside_paper(
    task: Task,
    out: Path,
    *,
    title: str,
    variants: Mapping[str, str],
    n_seeds: int,
    published: Mapping[str, Sequence[float]],
) -> Results:
    """Train the variants, named by their columns, and give their scores under the paper's."""
    runs = compare(
        task.model, task.train, task.dev, out, variants=list(variants.values()), n_seeds=n_seeds
    )
    found = {summary.variant: summary.mean for summary in summarize(runs)}
    rows = {f"the paper, {name}": [score / 100 for score in row] for name, row in published.items()}
    rows["here"] = [found[variant] for variant in variants.values()]
    return Results(title, list(variants), rows, scale=100)
