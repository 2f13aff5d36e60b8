"""Should the biLM learn too? Frozen, adapted to the texts, or unfrozen, on a task of yours.

    python -m paper.fine_tuning --task classify --train stsa.fine.train --dev stsa.fine.dev \\
        --format lines --static glove.6B.100d.txt --out build/sst5

Trains a task on a frozen biLM; on one that has first learned the training texts as a language model
(the paper, section 4), frozen then; and on one that is unfrozen layer by layer with discriminative
learning rates (Howard and Ruder 2018). Beside the dev scores are the seconds of the first and the
last epoch, of which the last has the scoring of the one before it, and those before the first:
adapting, and reading the texts that no run before has read. All are medians of the seeds. Stopped,
the same command resumes. Without --static the task has ELMo alone.
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from elmore.errors import DataError
from elmore.tasks.compare import VariantRun, compare, summarize
from paper.report import Results, run
from paper.tasks import Task, read_task, task_arguments

LEARNING = {"frozen, adapted to the texts": "adapted", "unfrozen gradually": "fine-tuned"}
COLUMNS = ("dev score, %", "std. dev.", "first epoch, s", "last epoch, s", "before, s")


def fine_tuning(task: Task, out: Path, *, n_seeds: int) -> Results:
    """Train the variants."""
    variants = {"frozen": "elmo" if task.model.static is None else "static+elmo"} | LEARNING
    runs = compare(
        task.model, task.train, task.dev, out, variants=list(variants.values()), n_seeds=n_seeds
    )
    found = {summary.variant: summary for summary in summarize(runs)}
    rows = {}
    for name, variant in variants.items():
        summary = found[variant]
        times = _seconds([run for run in runs if run.variant == variant], out)
        rows[name] = [100 * summary.mean, 100 * summary.sd, *times]
    title = f"{len(task.train):,} / {len(task.dev):,} examples, {n_seeds} seeds"
    return Results(title, COLUMNS, rows)


def _seconds(runs: Sequence[VariantRun], out: Path) -> tuple[float, float, float]:
    first, last, before = [], [], []
    for one in runs:
        if not one.epochs_s or one.before_s is None:
            raise DataError(f"{out} has runs that were not timed; choose another --out")
        first.append(one.epochs_s[0])
        last.append(one.epochs_s[-1])
        before.append(one.before_s)
    return median(first), median(last), median(before)


if __name__ == "__main__":
    asked = task_arguments(__doc__).parse_args()
    run(lambda: fine_tuning(read_task(asked), asked.out, n_seeds=asked.n_seeds), asked)
