"""A diagnosis in, the report that people or programs read out: lines of text, or JSON."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict

from elmore.doctor.diagnosis import Diagnosis

_MARGIN = 12


def report_facts(found: Diagnosis) -> dict[str, object]:
    """Return all figures, for JSON."""
    facts = asdict(found)
    facts["memory"]["total"] = found.memory.total
    facts["disk"]["total"] = found.disk.total
    if found.time is not None:
        facts["time"]["total_s"] = found.time.total_s
    return facts


def report_lines(found: Diagnosis, width: int) -> Iterator[str]:
    """Yield the lines of the report, of at most `width` columns."""
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


def _text(found: Diagnosis) -> Iterator[str]:
    text, cut = found.text, found.text.spelling
    n_files, n_bytes = len(text.file_bytes), sum(size or 0 for size in text.file_bytes.values())
    files = "1 file" if n_files == 1 else f"{n_files:,} files"
    yield f"{files}, {_size(n_bytes)}, {text.n_lines:,} lines, {text.n_sentences:,} sentences"
    yield (
        f"{text.n_words:,} words; {text.n_training_words:,} to train on, "
        f"of them {text.n_distinct_words:,} different"
    )
    about = "" if text.is_repeated_exact else "about "
    yield f"{about}{_percent(text.repeated_lines)} of the lines are duplicates"
    split = f", {cut.n_distinct_split:,} of them inside a character" if cut.n_distinct_split else ""
    yield (
        f"{cut.n_words:,} words ({cut.n_distinct:,} different) are longer than "
        f"{cut.max_bytes} bytes and cut there{split}"
    )


def _vocabulary(found: Diagnosis) -> Iterator[str]:
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


def _network(found: Diagnosis) -> Iterator[str]:
    memory, disk = found.memory, found.disk
    yield f"{found.n_parameters:,} weights, {found.vocabulary.softmax} softmax"
    has = found.machine_memory
    of = "" if has is None else f" of this machine's {_size(has)}"
    yield (
        f"{_size(memory.total)} of memory{of}: weights {_size(memory.weights)}, optimizer "
        f"{_size(memory.optimizer)}, activations {_size(memory.activations)}"
    )
    yield f"kernels for {found.kernels}"
    yield (
        f"{_size(disk.total)} of disk: corpus {_size(disk.corpus)}, checkpoints "
        f"{_size(disk.checkpoints)}, model {_size(disk.model)}"
    )


def _time(found: Diagnosis) -> Iterator[str]:
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
