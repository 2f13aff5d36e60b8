"""Runs `elmore pretrain` 20 times and kills it each time: while it prepares, trains, saves, ends.

    python killer.py OUT ARGUMENT...

Each run is a fork of this process, which has imported everything already, so that a run is short.
It prints a line for each: when it was to be killed, whether it was, the lines of metrics.jsonl, and
the files that were left in the middle of being written.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.utils.tensorboard  # or every run would import it

from elmore.cli.main import run

Parts = set[tuple[str, int]]


def n_lines(folder: Path) -> int:
    metrics = folder / "metrics.jsonl"
    return metrics.read_bytes().count(b"\n") if metrics.exists() else 0


def parts(folder: Path, name: str) -> Parts:
    """Return the files and folders of a name, unfinished ones too, and when each was written."""
    found = set()
    for path in folder.glob(f"{name}*"):
        try:
            found.add((path.name, path.stat().st_mtime_ns))
        except FileNotFoundError:
            continue  # renamed since
    return found


def wait(child: int, is_reached: Callable[[], bool]) -> bool:
    """Wait for a moment, which may be short; return whether the child still runs."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not is_reached():
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.0003)
    return True


def main(folder: Path, arguments: list[str]) -> None:
    torch.set_num_threads(1)
    rng = random.Random(1)
    written = {"preparing": "corpus", "saving": "last.safetensors", "ending": "model"}
    longest_s = {"preparing": 0.004, "training": 0.01, "saving": 0.0, "ending": 0.005}
    for when in ["preparing"] * 4 + ["training", "saving"] * 6 + ["ending"] * 4:
        before = parts(folder, written.get(when, ""))
        enough = n_lines(folder) + rng.randrange(1, 5)
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os._exit(run(["pretrain", *arguments, "--out", str(folder)]))
        if when == "training":
            is_running = wait(child, lambda n=enough: n_lines(folder) >= n)
        elif when == "preparing" and (folder / "corpus").exists():
            is_running = wait(child, lambda: True)  # it was too late
        else:
            name = written[when]
            is_running = wait(child, lambda n=name, b=before: bool(parts(folder, n) - b))
        if is_running:
            time.sleep(rng.uniform(0, longest_s[when]))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        left = sorted(path.name for path in folder.glob("*.*.part"))
        outcome = "killed" if is_running else "done"
        sys.stdout.write(" ".join([when, outcome, str(n_lines(folder)), *left]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
