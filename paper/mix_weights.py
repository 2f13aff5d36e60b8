"""Which layers does each task want? The learned weights of the layers: the paper's Figure 2.

    python -m paper.mix_weights build/compare/sst5 build/compare/chunks --out build/mix.png

Reads the comparisons that `elmore compare` wrote. Printed are s of each layer and gamma, the mean
over the seeds, for each place at which a task uses ELMo; --out gets them as a picture.
"""

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from elmore.errors import DataError
from elmore.folders import read_json
from elmore.tasks.compare import RESULTS
from paper.report import Results, run

VARIANTS = ("static+elmo", "elmo", "both", "input", "output")  # those that learn a whole mix
GAMMA = "gamma"
PUBLISHED = (
    "The paper (Figure 2): at the input tasks favour layer 1, at the output the weights are nearly "
    "equal, the lower layers a little larger."
)


def mix_weights(folders: Sequence[Path], out: Path) -> Results:
    """Read the comparisons and draw their mixes."""
    rows: dict[str, list[float]] = {}
    columns: list[str] = []
    for folder in folders:
        if not (folder / RESULTS).exists():
            raise DataError(f"{folder} has no {RESULTS}; expected the folder of a comparison")
        runs = read_json(folder / RESULTS)["runs"]
        for variant in VARIANTS:
            mixes = [run["mixes"] for run in runs if run["variant"] == variant]
            for place in mixes[0] if mixes else ():
                weights = [mix[place] for mix in mixes]
                columns = [name for name in weights[0] if name != GAMMA]
                name = f"{folder.name}, {variant}, {place}"
                if name in rows:
                    raise DataError(f"two folders are called {folder.name}; rename one")
                rows[name] = [
                    mean(weight[name] for weight in weights) for name in (*columns, GAMMA)
                ]
    if not rows:
        raise DataError("no run of these comparisons has learned a mix; compare static+elmo")
    if len({len(row) for row in rows.values()}) > 1:
        raise DataError("these comparisons are of models with different layers; draw each alone")
    _draw(columns, rows, out)
    return Results(
        "learned weights of the layers (s), and gamma",
        [*columns, GAMMA],
        rows,
        digits=2,
        note=PUBLISHED,
    )


def _draw(columns: Sequence[str], rows: dict[str, list[float]], path: Path) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  an extra

    size = (3.2 + 0.8 * len(columns), 1.2 + 0.4 * len(rows))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    shares = [row[:-1] for row in rows.values()]
    image = axes.imshow(shares, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), [f"{name}  γ = {row[-1]:.2f}" for name, row in rows.items()])
    axes.tick_params(length=0)
    for y, row in enumerate(shares):
        for x, share in enumerate(row):
            color = "black" if share > 0.6 else "white"
            axes.text(x, y, f"{share:.2f}", ha="center", va="center", color=color)
    figure.colorbar(image, ax=axes, label="s")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def arguments() -> Namespace:
    """Read the command line."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="folders of elmore compare")
    parser.add_argument("--out", type=Path, default=Path("build/mix-weights.png"))
    parser.add_argument("--json", type=Path, help="where to write the table as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    asked = arguments()
    run(lambda: mix_weights(asked.folders, asked.out), asked)
