"""What does ELMo add to a task? The paper's Table 1, on a task of yours.

    python -m paper.gains --task answer --train train-v1.1.json --dev dev-v1.1.json \\
        --static glove.6B.100d.txt --out build/answers

Trains a task with static vectors alone, then with ELMo beside them. Stopped, the same command
resumes; paper.layer_weights and paper.places with the same --out use the runs that are there.
"""

import statistics
from pathlib import Path

from elmore.tasks.compare import compare
from paper.report import Results, run
from paper.tasks import Task, read_task, task_arguments

BASELINE, WITH_ELMO = "static", "static+elmo"
COLUMNS = ("baseline", "with ELMo", "increase", "error reduction")
PUBLISHED: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "answer": {"SQuAD": (81.1, 85.8, 4.7, 24.9)},
    "pair": {"SNLI": (88.0, 88.7, 0.7, 5.8)},
    "tag": {"SRL": (81.4, 84.6, 3.2, 17.2), "NER": (90.15, 92.22, 2.06, 21)},
    "coref": {"OntoNotes": (67.2, 70.4, 3.2, 9.8)},
    "classify": {"SST-5": (51.4, 54.7, 3.3, 6.8)},
}
"""The paper's test scores, of the kind of task."""


def gains(task: Task, out: Path, *, n_seeds: int) -> Results:
    """Train both with each seed."""
    runs = compare(
        task.model, task.train, task.dev, out, variants=[BASELINE, WITH_ELMO], n_seeds=n_seeds
    )
    score = {(run.variant, run.seed): run.score for run in runs}
    each = []
    for seed in range(1, n_seeds + 1):
        before, after = score[BASELINE, seed], score[WITH_ELMO, seed]
        each.append((before, after, after - before, (after - before) / max(1 - before, 1e-9)))
    columns = list(zip(*each, strict=True))
    rows = {
        f"the paper, {name}": [number / 100 for number in row]
        for name, row in PUBLISHED[task.model.task].items()
    }
    rows[f"here, {len(task.train):,} examples"] = [statistics.mean(column) for column in columns]
    if n_seeds > 1:
        spread = [statistics.stdev(column) for column in columns]
        rows[f"standard deviation of {n_seeds} seeds"] = spread
    title = f"dev score on {len(task.dev):,} examples, %"
    return Results(title, COLUMNS, rows, scale=100)


if __name__ == "__main__":
    asked = task_arguments(__doc__).parse_args()
    run(lambda: gains(read_task(asked), asked.out, n_seeds=asked.n_seeds), asked)
