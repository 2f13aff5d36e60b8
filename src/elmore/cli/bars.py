"""Progress bars on standard error: of texts, of preparing a corpus, of training."""

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
from rich.text import Text

if TYPE_CHECKING:
    from elmore.corpus.parts import PartRecord
    from elmore.pretrain.trainer import Report
    from elmore.tasks.fit import FitEvent


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


@contextmanager
def parts_bar(
    name: str, counted: str, ray: str | None
) -> "Iterator[Callable[[int, PartRecord], None]]":
    """Give what shows each finished part on a bar; `counted` is what its speed is measured in."""
    if ray is not None:  # say how many workers there are
        log = logging.getLogger("elmore.scale")
        log.setLevel(logging.INFO)
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("elmore: %(message)s"))
        log.addHandler(handler)
    try:
        with progress_bar(shown=True) as bar:
            task = bar.add_task(name, total=None, tokens=0)

            def on_part(n_blocks: int, record: "PartRecord") -> None:
                tokens = bar.tasks[task].fields["tokens"] + record.counts[counted]
                bar.update(task, total=n_blocks, advance=1, tokens=tokens)

            yield on_part
    except KeyboardInterrupt:
        raise KeyboardInterrupt("finished parts are kept; the same command resumes") from None
    finally:
        if ray is not None:
            log.removeHandler(handler)


class _Stages:
    """Bars of preparing a corpus: a line for each stage, with its words."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def tell(self, stage: str, n_words: int) -> None:
        """Show that a stage has read so many more words."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(stage, total=None, tokens=0)
        task = self._tasks[stage]
        tokens = self._bar.tasks[task].fields["tokens"] + n_words
        self._bar.update(task, tokens=tokens)


@contextmanager
def preparing_bar(*, shown: bool) -> Iterator[_Stages]:
    """Give the bars of preparing a corpus."""
    columns = (TextColumn("{task.description}"), SpinnerColumn(), _WordCount(), _TokensPerSecond())
    disable = not (shown and sys.stderr.isatty())
    with Progress(*columns, console=Console(stderr=True), disable=disable, transient=True) as bar:
        yield _Stages(bar)


class _WordCount(ProgressColumn):
    """How many words are done."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.fields['tokens']:,} words")


class TrainingBar:
    """Shows pretraining: a bar on a terminal, a line every 30 seconds elsewhere."""

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
    """Shows how a task is trained: a bar of what is before it, then one of all epochs' batches."""

    def __init__(self, n_epochs: int) -> None:
        self._n_epochs = n_epochs
        self._stage: TaskID | None = None
        self._bar = progress_bar(shown=True)
        self._task: TaskID | None = None
        self._n_done = 0

    def __enter__(self) -> "FitBar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, name: str) -> None:
        """Start the bar of another training run."""
        self._bar.console.print(name, highlight=False)
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task, self._n_done = None, 0

    def on_progress(self, event: "FitEvent") -> None:
        """Show how far the biLM has come, or one batch more."""
        if event.stage != "train":
            self._show_stage(event)
            return
        if self._task is None:
            total = event.total * self._n_epochs
            self._task = self._bar.add_task("training", total=total, tokens=0)
        self._n_done += 1
        self._bar.update(
            self._task, completed=self._n_done, description=f"training  loss {event.loss:.3f}"
        )

    def _show_stage(self, event: "FitEvent") -> None:
        if self._stage is None:
            name = {"adapt": "adapting", "encode": "encoding"}[event.stage]
            self._stage = self._bar.add_task(name, total=event.total, tokens=0)
        self._bar.update(self._stage, completed=event.done)
        if event.done == event.total:  # others may follow
            self._stage = None
