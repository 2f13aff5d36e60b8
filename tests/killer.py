"""Runs an `elmore` command and kills it (SIGKILL) at random moments until it was killed often.

    python -m tests.killer FOLDER N_KILLS ARGUMENT...

The command runs in FOLDER/whole without a kill, then again and again in FOLDER/killed, each time as
a fork of this process, which has imported everything already, so that a run is short. It is killed
after a random time, or after a random number of changes to its files. Whenever it comes to its end,
its files must be those in FOLDER/whole; then it starts over. Prints a line of JSON.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from elmore.cli.main import run
from elmore.embed import corpus as embed_corpus
from elmore.pretrain.checkpoint import read_checkpoint
from elmore.tasks.compare import RESULTS

LONGEST_S = 120
MODULES = (  # that commands import when they need them
    "elmore.cli.embed", "elmore.cli.index", "elmore.cli.pretrain", "elmore.cli.train",
    "elmore.cli.compare", "elmore.cli.skipgram", "elmore.pretrain.run", "elmore.tasks.compare",
    "elmore.cli.calibrate", "elmore.cli.convert", "elmore.cli.export", "elmore.cli.export_vectors",
    "elmore.integrations.onnx.export", "elmore.integrations.vector_stores", "onnx",
    "elmore.tasks.catalogue", "elmore.static.skipgram", "elmore.scale", "torch.utils.tensorboard",
    "matplotlib.pyplot", "gensim.models", "pyarrow.parquet", "h5py",
)  # fmt: skip


def content_of(path: Path) -> Any:
    """Return what is compared of a file: not the seconds that training took."""
    if path.suffix == ".lance":
        return rows_of(path)
    if path.name == RESULTS:
        found = json.loads(path.read_bytes())
        runs = [run | {"epochs_s": None, "before_s": None} for run in found["runs"]]
        return found | {"runs": runs, "checksum": None}
    if path.name != "last.safetensors":
        return path.read_bytes()
    checkpoint = read_checkpoint(path)
    arrays = {name: array.tobytes() for name, array in checkpoint.arrays.items()}
    return arrays, {**checkpoint.facts, "seconds": 0}


def check_same(folder: Path, expected: Path) -> None:
    """Hold the files of two finished runs equal; TensorBoard's carry the clock."""
    names, wanted = (
        sorted(str(path.relative_to(one)) for path in one.rglob("*") if is_compared(path))
        for one in (folder, expected)
    )
    assert names == wanted, f"files: {names}, expected: {wanted}"
    for name in names:
        if (folder / name).is_file() or (folder / name).suffix == ".lance":
            assert content_of(folder / name) == content_of(expected / name), name


def is_compared(path: Path) -> bool:
    """Whether a file has the same name in each run, as those in a table of LanceDB do not."""
    in_table = any(parent.suffix == ".lance" for parent in path.parents)
    return "tensorboard" not in path.parts and not in_table


def rows_of(table: Path) -> Any:
    """Return the rows of a table of LanceDB, read by a process of its own, as it has threads."""
    program = "import lancedb, sys; print(lancedb.connect(sys.argv[1]).open_table(sys.argv[2])"
    program += ".to_arrow().to_pydict(), file=sys.stdout)"
    command = [sys.executable, "-W", "ignore", "-c", program, str(table.parent), table.stem]
    return subprocess.run(command, capture_output=True, check=True).stdout


def files_in(folder: Path) -> set[tuple[str, int, int]]:
    """Return all files and folders, when each was written, and its size."""
    found = set()
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            with suppress(FileNotFoundError):  # renamed since
                facts = path.stat()
                found.add((str(path), facts.st_mtime_ns, facts.st_size))
    return found


class Killer:
    def __init__(self, folder: Path, arguments: list[str]) -> None:
        self.folder, self.arguments = folder, arguments

    def run(self, name: str, is_reached: Callable[[float, int], bool]) -> bool:
        """Run the command until it ends or a moment is reached; return whether it was killed."""
        folder = self.folder / name
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os._exit(run([one.replace("HERE", str(folder)) for one in self.arguments]))
        began, self.n_changes, before = time.monotonic(), 0, files_in(folder)
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            self.seconds = time.monotonic() - began
            if ended:
                # 2: it was killed after its output was whole, which it does not replace.
                code = os.waitstatus_to_exitcode(status)
                assert code in (0, 2), f"the command ended with {code}"
                return False
            now = files_in(folder)
            self.n_changes += now != before
            before = now
            if is_reached(self.seconds, self.n_changes) or self.seconds > LONGEST_S:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                assert self.seconds <= LONGEST_S, "the command hangs"
                return True
            time.sleep(0.002)


def main(folder: Path, n_kills: int, arguments: list[str]) -> None:
    torch.set_num_threads(1)
    for name in MODULES:
        with suppress(ImportError):  # an extra
            import_module(name)
    warnings.simplefilter("error")
    embed_corpus._MAX_BLOCK_TOKENS = 40
    killer, rng = Killer(folder, arguments), random.Random(1)
    for name in ("whole", "killed"):
        (folder / name).mkdir()
    assert not killer.run("whole", lambda seconds, n_changes: False)
    longest_s, most_changes = killer.seconds, killer.n_changes
    n_killed, n_whole, left = 0, 0, set()
    for _ in range(20 * n_kills):
        if n_killed == n_kills:
            break
        if rng.random() < 0.5:
            limit_s = rng.uniform(0, longest_s)
            was_killed = killer.run("killed", lambda seconds, n, s=limit_s: seconds > s)
        else:
            limit = rng.randint(1, most_changes)
            was_killed = killer.run("killed", lambda seconds, n, limit=limit: n >= limit)
        if was_killed:
            n_killed += 1
            left.add(frozenset(path for path, _, _ in files_in(folder / "killed")))
        else:
            n_whole += 1
            check_same(folder / "killed", folder / "whole")
            shutil.rmtree(folder / "killed")
            (folder / "killed").mkdir()
    if killer.run("killed", lambda seconds, n_changes: False):
        raise AssertionError
    check_same(folder / "killed", folder / "whole")
    facts = {"killed": n_killed, "whole": n_whole + 1, "kinds of remains": len(left)}
    sys.stdout.write(json.dumps(facts) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
