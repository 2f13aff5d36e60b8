"""The metrics of a run, written during training: metrics.jsonl, TensorBoard, curve.png.

metrics.jsonl holds nothing that depends on the clock: a run that was stopped and resumed has the
very same lines. A checkpoint stores the length of the file, which is truncated to it on resuming.
Lines that are missing or damaged all the same, as after a power failure, do not stop a run.
"""

import json
import math
import os
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from elmore.errors import ElmoreWarning
from elmore.folders import new_file

METRICS, CURVE, TENSORBOARD = "metrics.jsonl", "curve.png", "tensorboard"


class _Update(msgspec.Struct):
    update: int
    tokens: int
    forward_loss: float
    backward_loss: float


class _Measurement(msgspec.Struct):
    update: int
    tokens: int
    held_out_forward: float
    held_out_backward: float


class Metrics:
    """The metrics of a run, a line for each update and measurement."""

    def __init__(self, folder: Path, length: int) -> None:
        """Append after `length` bytes."""
        self.path = folder / METRICS
        content = self.path.read_bytes()[:length] if self.path.exists() else b""
        whole = b"".join(line for line in content.splitlines(keepends=True) if _is_whole(line))
        if len(whole) < length:
            warnings.warn(
                f"{self.path} lacks or damages lines that were there at the last checkpoint; "
                "training resumes without them",
                ElmoreWarning,
                stacklevel=2,
            )
        with new_file(self.path) as beside:
            beside.write_bytes(whole)
        self._file = self.path.open("ab")
        self._board = _tensorboard(folder)

    def write(self, facts: dict[str, Any], *, speed: float | None = None) -> None:
        """Write a line; `speed` (tokens/s) goes to TensorBoard only."""
        self._file.write(json.dumps(facts).encode() + b"\n")
        self._file.flush()
        if self._board is not None:
            shown = {**facts, "tokens_per_second": speed}
            for name, value in shown.items():
                if isinstance(value, float):
                    self._board.add_scalar(name, value, facts["update"])

    def sync(self) -> int:
        """Sync all lines to disk, before a checkpoint relies on them; return their bytes."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        """Close all files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def read_metrics(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run."""
    with (folder / METRICS).open("rb") as file:
        for line in file:
            yield json.loads(line)


def _is_whole(line: bytes) -> bool:
    """Return whether a line is one that was written."""
    kind = _Measurement if b'"held_out_' in line else _Update
    try:
        msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return line.endswith(b"\n")


def _tensorboard(folder: Path) -> Any:
    if find_spec("tensorboard") is None or find_spec("torch") is None:  # extras
        return None
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  only if installed

    return SummaryWriter(folder / TENSORBOARD)


_MOST_SHOWN = 1e20  # beyond it the axis overflows


def draw_curve(folder: Path) -> None:
    """Plot training and held-out perplexity over tokens, if matplotlib is installed."""
    if find_spec("matplotlib") is None:  # an extra
        return
    from matplotlib.figure import Figure  # noqa: PLC0415

    training: list[tuple[float, float]] = []
    held_out: list[tuple[float, float, float]] = []
    for facts in read_metrics(folder):
        if "held_out_forward" in facts:
            measured = (facts["held_out_forward"], facts["held_out_backward"])
            held_out.append((facts["tokens"], *(min(one, _MOST_SHOWN) for one in measured)))
        else:
            mean = (facts["forward_loss"] + facts["backward_loss"]) / 2
            training.append((facts["tokens"], math.exp(min(mean, math.log(_MOST_SHOWN)))))
    figure = Figure(figsize=(7, 4.5))  # without pyplot, whose backend is the user's choice
    axes = figure.subplots()
    if training:
        tokens, perplexity = zip(*training, strict=True)
        axes.plot(tokens, perplexity, color="#c5ced8", linewidth=0.8, label="training, per batch")
    if held_out:
        tokens, forward, backward = zip(*held_out, strict=True)
        axes.plot(tokens, forward, "o-", color="#1b4f9c", label="held out, forward")
        axes.plot(tokens, backward, "s--", color="#c0392b", label="held out, backward")
    axes.set_yscale("log")
    axes.set_xlabel("tokens")
    axes.set_ylabel("perplexity")
    axes.grid(alpha=0.3)
    if training or held_out:
        axes.legend(loc="upper right")
    figure.tight_layout()
    with new_file(folder / CURVE) as beside:
        figure.savefig(beside, dpi=120, format="png")
