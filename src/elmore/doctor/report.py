"""`elmore doctor`: what a text holds and what training on it will cost."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.recipe_flags import NO_FLAGS, RecipeFlags, changes
from elmore.cli.bars import preparing_bar

if TYPE_CHECKING:
    from elmore.doctor.diagnosis import Diagnosis

_MARGIN = 12


def doctor(
    *texts: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    recipe: str = "small-cpu",
    processes: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    measure_s: float = 15.0,
    flags: Annotated[RecipeFlags, Parameter(name="*")] = NO_FLAGS,  # type: ignore[valid-type]
) -> None:
    """Look at text before training on it: what it holds, what it will cost, what to do better.

    A page on a terminal, JSON in a pipe. The text is read and counted whole, and a few updates are
    really made, to see how fast this machine is. Nothing is left on the disk.

    Parameters
    ----------
    texts
        Files: .txt (a text a line), .jsonl, .csv, .tsv or .parquet, also compressed; - is
        standard input.
    recipe
        tiny, small-cpu, original, or a TOML file; every field has a flag too.
    processes
        Processes that tokenize the text; as many as there are cores if not given.
    measure_s
        Seconds that the updates may take; more make a better estimate.
    """
    from elmore.doctor.diagnosis import examine
    from elmore.pretrain.recipes import read_recipe

    chosen = read_recipe(recipe, changes(flags))
    with preparing_bar(shown=True) as preparing:
        found = examine(
            texts,
            chosen,
            n_processes=(os.cpu_count() or 1) if processes is None else processes,
            progress=preparing.tell,
            measure_s=measure_s,
        )
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        sys.stdout.writelines(f"{line}\n" for line in _page(found, min(width, 100)))
    else:
        sys.stdout.write(json.dumps(_facts(found), ensure_ascii=False) + "\n")


def _facts(found: "Diagnosis") -> dict[str, object]:
    facts = asdict(found)
    facts["memory"]["total"] = found.memory.total
    facts["disk"]["total"] = found.disk.total
    if found.time is not None:
        facts["time"]["total_s"] = found.time.total_s
    return facts


def _page(found: "Diagnosis", width: int) -> Iterator[str]:
    for name, lines in (
        ("text", _text(found)),
        ("vocabulary", _vocabulary(found)),
        ("network", _network(found)),
        ("time", _time(found)),
    ):
        for number, line in enumerate(lines):
            yield f"{'' if number else name:{_MARGIN}}{line}"
    yield from textwrap.wrap(
        f"- {found.advice[0]}", width, initial_indent=f"{'advice':{_MARGIN}}",
        subsequent_indent=" " * (_MARGIN + 2), break_on_hyphens=False,
    )  # fmt: skip
    for sentence in found.advice[1:]:
        yield from textwrap.wrap(
            f"- {sentence}", width, initial_indent=" " * _MARGIN,
            subsequent_indent=" " * (_MARGIN + 2), break_on_hyphens=False,
        )  # fmt: skip


def _text(found: "Diagnosis") -> Iterator[str]:
    text, cut = found.text, found.text.spelling
    n_files, n_bytes = len(text.file_bytes), sum(size or 0 for size in text.file_bytes.values())
    files = "1 file" if n_files == 1 else f"{n_files:,} files"
    yield f"{files}, {_size(n_bytes)}, {text.n_lines:,} lines, {text.n_sentences:,} sentences"
    yield (
        f"{text.n_words:,} words; {text.n_training_words:,} to train on, "
        f"of them {text.n_distinct_words:,} different"
    )
    about = "" if text.is_repeated_exact else "about "
    yield f"{about}{_percent(text.repeated_lines)} of the lines stood there before"
    split = f", {cut.n_distinct_split:,} of them inside a character" if cut.n_distinct_split else ""
    yield (
        f"{cut.n_words:,} words ({cut.n_distinct:,} different) are longer than "
        f"{cut.max_bytes} bytes and cut there{split}"
    )


def _vocabulary(found: "Diagnosis") -> Iterator[str]:
    words = found.vocabulary
    kept = (words.n_rows - 3, 1 - words.unknown_rate)
    rows = sorted({*words.coverage.items()} - {(kept[0], words.coverage.get(kept[0]))} | {kept})
    for n_words, share in rows:
        note = f"   <- this recipe: {_percent(words.unknown_rate)} will be unknown"
        yield (
            f"{n_words:>11,} words cover {_percent(share):>7}{note if n_words == kept[0] else ''}"
        )
    if words.static is not None:
        yield (
            f"{words.static.n_words:>11,} of them have a static vector: "
            f"{_percent(words.static.share)} of the text"
        )


def _network(found: "Diagnosis") -> Iterator[str]:
    memory, disk = found.memory, found.disk
    yield f"{found.n_parameters:,} weights, {found.vocabulary.softmax} softmax"
    has = found.machine_memory
    of = "" if has is None else f" of this machine's {_size(has)}"
    yield (
        f"{_size(memory.total)} of memory{of}: weights {_size(memory.weights)}, optimizer "
        f"{_size(memory.optimizer)}, activations {_size(memory.activations)}"
    )
    yield (
        f"{_size(disk.total)} of disk: corpus {_size(disk.corpus)}, checkpoints "
        f"{_size(disk.checkpoints)}, model {_size(disk.model)}"
    )


def _time(found: "Diagnosis") -> Iterator[str]:
    time = found.time
    updates = f"{found.n_windows:,} batches an epoch, {found.n_updates:,} updates in all"
    if time is None:
        yield f"{updates}; not measured, see the advice"
        return
    yield updates
    yield (
        f"{time.tokens_per_second:,.0f} tokens/s here: {_duration(time.epoch_s)} an epoch, "
        f"{_duration(time.training_s)} of training"
    )
    yield (
        f"of them {_percent(time.evaluation_share)} for held-out text and "
        f"{_percent(time.checkpoint_share)} for checkpoints"
    )
    yield f"{_duration(time.total_s)} in all, with {_duration(time.prepare_s)} for preparing"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _size(n_bytes: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} GB"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours / 24:,.1f} days"
