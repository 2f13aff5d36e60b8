"""How much less data does a task need with ELMo? The paper's Figure 1.

    python -m paper.sample_efficiency --task tag --train train.conll --dev dev.conll \\
        --static glove.6B.50d.txt --out build/efficiency

Trains a task on growing shares of its examples, with static vectors alone and with ELMo beside
them. Printed are the mean development scores; --out gets them with a picture. Each share is drawn
at random, but so that every label is in it. Stopped, the same command resumes.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from elmore.errors import DataError
from elmore.tasks import Examples
from elmore.tasks.compare import compare, summarize
from paper.report import Results, run
from paper.tasks import Task, read_task, task_arguments

VARIANTS = ("static", "static+elmo")
SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)
SEED = 1  # of the draw
PUBLISHED = (
    "The paper (Figure 1): semantic roles with ELMo and 1 % of the examples are as good as without "
    "ELMo and 10 %."
)


def share_of(examples: Examples, share: float) -> Examples:
    """Return a share of the examples, in a random order, with each label at least once."""
    order = list(range(len(examples)))
    random.Random(SEED).shuffle(order)
    known: set[str] = set()
    needed: list[int] = []
    others: list[int] = []
    for k in order:
        labels = {examples.y[k]} if isinstance(examples.y[k], str) else set(examples.y[k])
        (others if labels <= known else needed).append(k)
        known |= labels
    n = max(len(needed), round(share * len(examples)))
    rows = (needed + others)[:n]
    return Examples([examples.X[k] for k in rows], [examples.y[k] for k in rows])


def sample_efficiency(
    task: Task,
    out: Path,
    *,
    shares: Sequence[float],
    n_seeds: int,
) -> Results:
    """Train with each share, and draw what came of it."""
    columns, scores, spreads, sizes = [], [], [], []
    for share in shares:
        if not 0 < share <= 1:
            raise DataError(f"the share is {share}; expected more than 0 and at most 1")
        some = share_of(task.train, share)
        runs = compare(
            task.model, some, task.dev, out / f"{share:g}", variants=VARIANTS, n_seeds=n_seeds
        )
        found = summarize(runs)
        columns.append(f"{100 * share:g} % ({len(some):,})")
        sizes.append(len(some))
        scores.append([summary.mean for summary in found])
        spreads.append([summary.sd for summary in found])
    rows = {name: [score[k] for score in scores] for k, name in enumerate(VARIANTS)}
    _draw(sizes, rows, [[s[k] for s in spreads] for k in range(2)], out / "chart.png")
    title = "dev score by the share of the training examples, %"
    return Results(title, columns, rows, scale=100, note=PUBLISHED)


def _draw(
    sizes: Sequence[int],
    rows: dict[str, list[float]],
    spreads: Sequence[Sequence[float]],
    path: Path,
) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  an extra

    figure = Figure(figsize=(5.2, 3.6), layout="constrained")
    axes = figure.subplots()
    colors = ("#9aa5b1", "#1b4f9c")
    for (name, scores), spread, color in zip(rows.items(), spreads, colors, strict=True):
        axes.errorbar(
            sizes, [100 * score for score in scores],
            [100 * sd for sd in spread], label=name, capsize=3, color=color, marker="o",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("training examples")
    axes.set_ylabel("dev score, %")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    parser = task_arguments(__doc__)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    asked = parser.parse_args()
    run(
        lambda: sample_efficiency(
            read_task(asked), asked.out, shares=asked.shares, n_seeds=asked.n_seeds
        ),
        asked,
    )
