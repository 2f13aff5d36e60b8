"""`elmore models`: what came with the package."""

import sys
from pathlib import Path
from typing import Any

from elmore.cli.terminal import TextConsole, is_terminal, print_json


def models() -> None:
    """List the models that come with the package: a table on a terminal, JSON in a pipe.

    Each has a card, README.md in its folder: what it was trained on, how well it does, its limits.
    """
    from elmore.folders import read_json
    from elmore.formats import bundled_models
    from elmore.formats.native import CONFIG

    def facts_of(name: str, folder: Path) -> dict[str, Any]:
        config = read_json(folder / CONFIG)
        held_out = config["training"]["held_out"]
        return {
            "name": name,
            "dim": 2 * config["lstm"]["projection_dim"],
            "layers": config["lstm"]["n_layers"] + 1,
            "vocabulary": config["n_softmax_words"],
            "tokenizer": config["tokenizer"],
            "forward_perplexity": held_out["forward_perplexity"],
            "backward_perplexity": held_out["backward_perplexity"],
            "megabytes": sum(path.stat().st_size for path in folder.iterdir()) / 1e6,
            "folder": str(folder),
        }

    found = [facts_of(name, folder) for name, folder in bundled_models().items()]
    if is_terminal():
        _print(found)
    else:
        print_json(found)


def _print(found: list[dict[str, Any]]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("model")
    for column in ("dim", "layers", "vocabulary", "tokenizer", "perplexity", "MB"):
        table.add_column(column, justify="right")
    for facts in found:
        table.add_row(
            facts["name"],
            str(facts["dim"]),
            str(facts["layers"]),
            f"{facts['vocabulary']:,}",
            facts["tokenizer"],
            f"{facts['forward_perplexity']:.1f} / {facts['backward_perplexity']:.1f}",
            f"{facts['megabytes']:.1f}",
        )
    TextConsole().print(table)
    for facts in found:  # on a line of its own: a wrapped path cannot be copied
        sys.stdout.write(f"{facts['name']}: {Path(facts['folder']) / 'README.md'}\n")
