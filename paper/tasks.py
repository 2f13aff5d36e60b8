"""What the measurements on tasks share: their arguments, and a task with its examples."""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    parser.add_argument("--static", type=Path, required=True, help="static vectors")
    parser.add_argument("--n-seeds", type=int, default=3)
    parser.add_argument("--n-epochs", type=int, default=20)
    parser.add_argument("--max-train", type=int, help="learn from the first examples only")
    parser.add_argument("--max-dev", type=int, help="measure on the first examples only")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the comparison")
    parser.add_argument("--json", type=Path, help="where to write the table as JSON")
    return parser


def read_task(given: Namespace) -> Task:
    """Return the task that the command line names."""
    kind = TASKS[given.task]
    read, model = kind.read, kind.model(given.model, given.static, n_epochs=given.n_epochs)
    train = read(given.train, format=given.format)
    if given.dev is None:
        train, dev = model.hold_out(train)
    else:
        dev = read(given.dev, format=given.format)
    return Task(model, train[: given.max_train], dev[: given.max_dev])


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
