"""What people see on a terminal: tables on standard output, a bar on standard error."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from elmore.embed import TokenVectors

_SHOWN_NUMBERS = 6


class TablePrinter:
    """Prints each text as a table: a row for each token and layer, with its first numbers."""

    def __init__(self) -> None:
        self._console = Console()

    def write(self, number: int, text: "TokenVectors") -> None:
        """Print one text."""
        several = text.vectors.ndim == 3
        layers = text.vectors if several else text.vectors[None]
        dim = layers.shape[-1]
        table = Table(title=f"text {number}", title_justify="left", box=None, pad_edge=False)
        table.add_column("token")
        if several:
            table.add_column("layer", justify="right")
        table.add_column("length", justify="right")
        table.add_column(f"first {min(_SHOWN_NUMBERS, dim)} of {dim} numbers")
        for place, token in enumerate(text.tokens):
            for depth, layer in enumerate(layers):
                vector = layer[place].astype("float32")
                length = float((vector @ vector) ** 0.5)
                first = " ".join(f"{x:+.3f}" for x in vector[:_SHOWN_NUMBERS])
                cells = [token, *([str(depth)] if several else []), f"{length:.3f}", first]
                table.add_row(*(Text(cell) for cell in cells))
        self._console.print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, aligned."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        shown = (
            "none" if value in (None, {}) else f"{value:,}" if type(value) is int else str(value)
        )
        table.add_row(Text(name.replace("_", " ")), Text(shown))
    Console().print(table)


class _TokensPerSecond(ProgressColumn):
    """How fast tokens are read."""

    def render(self, task: Task) -> Text:
        seconds = task.elapsed or 0.0
        return Text(f"{task.fields['tokens'] / seconds if seconds else 0.0:,.0f} tokens/s")


def progress_bar(*, shown: bool) -> Progress:
    """Return a bar for long work, which shows nothing where standard error is not a terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _TokensPerSecond(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not (shown and sys.stderr.isatty()),
        transient=True,
    )
