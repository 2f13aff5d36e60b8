"""How much less data does a task need with ELMo? The paper's Figure 1.

    python -m paper.sample_efficiency --task tag --train train.txt --dev dev.txt \\
        --static glove.6B.50d.txt --out build/efficiency

Trains a task on growing shares of its examples, with static vectors alone and with ELMo beside
them. Printed are the mean development scores; --out gets them with a picture. Each share is drawn
at random, but so that every label is in it. Stopped, the same command goes on.
"""

import random
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from elmore.tasks import Classifier, Examples, PairClassifier, Tagger
from elmore.tasks.compare import compare, summarize
from elmore.tasks.estimator import TaskModel
from elmore.tasks.readers import READERS
from paper.report import Results, run

TASKS: dict[str, type[TaskModel]] = {cls.task: cls for cls in (Classifier, Tagger, PairClassifier)}
VARIANTS = ("static", "static+elmo")
SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)
SEED = 1  # of the draw


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
    model: TaskModel,
    train: Examples,
    dev: Examples,
    out: Path,
    *,
    shares: Sequence[float],
    n_seeds: int,
) -> Results:
    """Train with each share, and draw what came of it."""
    columns, scores, spreads = [], [], []
    for share in shares:
        some = share_of(train, share)
        runs = compare(model, some, dev, out / f"{share:g}", variants=VARIANTS, n_seeds=n_seeds)
        found = summarize(runs)
        columns.append(f"{100 * share:g} % ({len(some):,})")
        scores.append([summary.mean for summary in found])
        spreads.append([summary.sd for summary in found])
    rows = {name: [score[k] for score in scores] for k, name in enumerate(VARIANTS)}
    _draw(shares, rows, [[s[k] for s in spreads] for k in range(2)], out / "chart.png")
    return Results("development score by the share of the training examples, %", columns, rows, 100)


def _draw(
    shares: Sequence[float],
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
            [100 * share for share in shares], [100 * score for score in scores],
            [100 * sd for sd in spread], label=name, capsize=3, color=color, marker="o",
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks([100 * share for share in shares], [f"{100 * share:g}" for share in shares])
    axes.minorticks_off()
    axes.set_xlabel("share of the training examples, %")
    axes.set_ylabel("development score, %")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=130)


def arguments() -> Namespace:
    """Read the command line."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--format", default="auto", help="of the files; as in elmore train")
    parser.add_argument("--model", default="en", help="a bundled name or a model folder")
    parser.add_argument("--static", type=Path, required=True, help="static vectors")
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES)
    parser.add_argument("--n-seeds", type=int, default=3)
    parser.add_argument("--n-epochs", type=int, default=20)
    parser.add_argument("--max-dev", type=int, help="measure on the first examples only")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--json", type=Path, help="where to write the table as JSON")
    return parser.parse_args()


def measure(given: Namespace) -> Results:
    """Do what the command line asks for."""
    read = READERS[given.task]
    model = TASKS[given.task](given.model, given.static, n_epochs=given.n_epochs)
    return sample_efficiency(
        model,
        read(given.train, format=given.format),
        read(given.dev, format=given.format)[: given.max_dev],
        given.out,
        shares=given.shares,
        n_seeds=given.n_seeds,
    )


if __name__ == "__main__":
    asked = arguments()
    run(lambda: measure(asked), asked)
