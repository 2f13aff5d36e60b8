"""What people see on a terminal: tables on standard output, a bar on standard error."""

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from elmore.embed import TokenVectors
    from elmore.pretrain.loop import Report
    from elmore.tasks.fit import FitEvent

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
    for name, value in _flat(facts):
        table.add_row(Text(name.replace("_", " ")), Text(_shown(value)))
    Console().print(table)


def _flat(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Give names and values, those of a mapping under its name: "training held_out"."""
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{above}{name} ")
        else:
            yield f"{above}{name}", value


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):  # pairs such as filters as they are given: 1:32, 2:32
        inner = [":".join(map(str, x)) if isinstance(x, list | tuple) else str(x) for x in value]
        return ", ".join(inner) or "none"
    if value is None or value == {}:
        return "none"
    return f"{value:,}" if type(value) is int else str(value)


class _TokensPerSecond(ProgressColumn):
    """How fast tokens are read."""

    def render(self, task: Task) -> Text:
        tokens, seconds = task.fields["tokens"], task.elapsed
        return Text(f"{tokens / seconds:,.0f} tokens/s" if tokens and seconds else "")


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


class _Stages:
    """Bars of what goes before training: a line for each stage, with its words."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def tell(self, stage: str, n_words: int) -> None:
        """Say that a stage got on by so many words."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=None, tokens=0)
        task = self._tasks[stage]
        tokens = self._bar.tasks[task].fields["tokens"] + n_words
        self._bar.update(task, tokens=tokens)


@contextmanager
def preparing_bar(*, shown: bool) -> Iterator[_Stages]:
    """Give what is told how the text is being prepared."""
    columns = (TextColumn("{task.description}"), SpinnerColumn(), _Words(), _TokensPerSecond())
    disable = not (shown and sys.stderr.isatty())
    with Progress(*columns, console=Console(stderr=True), disable=disable, transient=True) as bar:
        yield _Stages(bar)


class _Words(ProgressColumn):
    """How many words are done."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.fields['tokens']:,} words")


class TrainingBar:
    """Shows how training goes: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._lines_at = 0.0

    def __enter__(self) -> "TrainingBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, report: "Report") -> None:
        """Show one update."""
        if not self._shown:
            return
        if sys.stderr.isatty():
            self._draw(report)
        elif time.monotonic() - self._lines_at > _SECONDS_BETWEEN_LINES or (
            report.update == report.n_updates
        ):
            self._lines_at = time.monotonic()
            sys.stderr.write(f"{report.update:,}/{report.n_updates:,} {_training_facts(report)}\n")

    def _draw(self, report: "Report") -> None:
        if self._bar is None:
            self._bar = Progress(
                TextColumn("training"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[facts]}"),
                TimeRemainingColumn(elapsed_when_finished=True),
                console=Console(stderr=True),
            )
            self._bar.start()
            # Updates of an earlier call took none of this one's time.
            self._first = report.update - 1
            self._task = self._bar.add_task(
                "training", total=report.n_updates - self._first, facts=""
            )
        assert self._task is not None
        self._bar.update(
            self._task, completed=report.update - self._first, facts=_training_facts(report)
        )


_SECONDS_BETWEEN_LINES = 30.0


def _training_facts(report: "Report") -> str:
    forward, backward = report.losses
    facts = [
        f"loss {forward:.2f} {backward:.2f}",
        f"perplexity {math.exp(min((forward + backward) / 2, 50.0)):,.0f}",
        f"{report.tokens_per_second:,.0f} tokens/s",
    ]
    if report.held_out is not None:
        facts.append(f"held out {report.held_out.forward:,.1f} {report.held_out.backward:,.1f}")
    return "  ".join(facts)


class FitBar:
    """Shows how a task is trained: a bar of encoded sentences, then one of all epochs' batches."""

    def __init__(self, n_epochs: int) -> None:
        self._n_epochs = n_epochs
        self._encoding: TaskID | None = None
        self._bar = progress_bar(shown=True)
        self._task: TaskID | None = None
        self._n_done = 0

    def __enter__(self) -> "FitBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, name: str) -> None:
        """Say that another training begins."""
        self._bar.console.print(name, highlight=False)
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task, self._n_done = None, 0

    def on_progress(self, event: "FitEvent") -> None:
        """Show how many sentences the biLM has encoded, or one batch more."""
        if event.stage == "encode":
            self._show_encoded(event)
            return
        if self._task is None:
            total = event.total * self._n_epochs
            self._task = self._bar.add_task("training", total=total, tokens=0)
        self._n_done += 1
        self._bar.update(
            self._task, completed=self._n_done, description=f"training  loss {event.loss:.3f}"
        )

    def _show_encoded(self, event: "FitEvent") -> None:
        if self._encoding is None:
            self._encoding = self._bar.add_task("encoding", total=event.total, tokens=0)
        self._bar.update(self._encoding, completed=event.done)
        if event.done == event.total:  # other examples may follow
            self._encoding = None
