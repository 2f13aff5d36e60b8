"""Damages files and reads them, in a process of its own: a reader that crashes, hangs or eats
memory takes only this process with it.

A job a line in, a report a line out, both JSON (`Job` and `Report`). The number of the case that is
being read is always at the start of the file POSITION, for whoever finds this process dead.

Outcomes: refused (an ElmoreError), unharmed (read, and equal), unnoticed (read, not equal, and
there is no checksum), and the failures believed (not equal in spite of a checksum), traceback,
slow, memory.
"""

import json
import mmap
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from elmore.errors import ElmoreError
from tests.fuzz.mutations import mutate
from tests.fuzz.readers import READERS

MAX_SECONDS, MAX_GROWTH = 10, 2**30  # bytes
FAILURES = ("believed", "traceback", "slow", "memory", "crash")
FOUND = Path(__file__).with_name("found")
_NOTICED_GROWTH = 8 * 2**20  # less is not measured


class Job(NamedTuple):
    """The cases `first` to `last` - 1 of one file of a reader; those below 0 are FOUND ones."""

    reader: str
    file: str
    seed: int
    first: int
    last: int


@dataclass
class Report:
    """What became of some cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0
    peak: int = 0
    """Most bytes above the memory in use before, where that is more than 8 MB."""
    failures: list[tuple[int, str, str]] = field(default_factory=list)
    """Case, outcome and message."""

    def add(self, other: "Report") -> None:
        """Add what became of other cases."""
        self.outcomes += other.outcomes
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.peak = max(self.peak, other.peak)
        self.failures += other.failures


def targets() -> list[tuple[str, str]]:
    """Return each reader with each of its files."""
    return [(name, file) for name, reader in READERS.items() for file in reader.files]


@cache
def found_cases(name: str, file: str) -> list[bytes]:
    """Return the damaged files that a reader once failed on."""
    return [path.read_bytes() for path in sorted((FOUND / name / file).glob("*"))]


def damaged_file(job: Job, case: int, whole: bytes) -> bytes:
    """Return the damaged file that a case is, always the same."""
    if case < 0:
        return found_cases(job.reader, job.file)[case]
    rng = random.Random(crc32(f"{job.reader} {job.file} {job.seed} {case}".encode()))
    damaged = whole
    while damaged == whole:
        damaged = mutate(whole, rng, is_json=job.file.endswith(".json"))
    return damaged


class _TooSlowError(BaseException):
    pass


def _stop(*_: object) -> None:
    raise _TooSlowError


class _Memory:
    """The peak of this process above what it had before."""

    def __init__(self) -> None:
        self._reset()

    def growth(self) -> int:
        """Return how far memory rose since the last call, or 0 if that is hardly anything."""
        growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - self._base
        if growth < _NOTICED_GROWTH:
            return 0
        self._reset()
        return growth

    def _reset(self) -> None:
        with suppress(OSError):  # only Linux can forget the peak
            Path("/proc/self/clear_refs").write_text("5")
        self._base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Worker:
    """Runs jobs in `work`, where each reader has a whole folder, made when it is first needed."""

    def __init__(self, work: Path, position: mmap.mmap) -> None:
        self._work, self._position = work, position
        self._folders: dict[str, tuple[Path, Any]] = {}
        self._memory = _Memory()

    def run(self, job: Job) -> Report:
        """Read the damaged files of a job, and put the whole one back."""
        reader = READERS[job.reader]
        folder, expected = self._folder(job.reader)
        path = folder / job.file
        whole = path.read_bytes()
        is_checked = job.file in reader.checked
        _limit_address_space()
        report = Report()
        for case in range(job.first, job.last):
            struct.pack_into("<q", self._position, 0, case)
            path.write_bytes(damaged_file(job, case, whole))
            began = time.monotonic()
            signal.alarm(MAX_SECONDS)
            try:
                same = reader.read(folder) == expected
                outcome = "unharmed" if same else "believed" if is_checked else "unnoticed"
                message = ""
            except ElmoreError as error:
                message = str(error)
                is_sentence = "\n" not in message and len(message) < 1000
                outcome = "refused" if is_sentence else "traceback"
            except _TooSlowError:
                outcome, message = "slow", f"over {MAX_SECONDS} s"
            except Exception as error:
                outcome, message = "traceback", f"{type(error).__name__}: {error}"
            finally:
                signal.alarm(0)
            taken, growth = time.monotonic() - began, self._memory.growth()
            if growth > MAX_GROWTH:
                outcome, message = "memory", f"{growth / 2**20:.0f} MB more"
            if taken > MAX_SECONDS:
                outcome, message = "slow", f"{taken:.1f} s"
            failures = [(case, outcome, message[:300])] if outcome in FAILURES else []
            report.add(Report(Counter([outcome]), taken, growth, failures))
        path.write_bytes(whole)
        return report

    def _folder(self, name: str) -> tuple[Path, Any]:
        if name not in self._folders:
            folder = self._work / str(len(self._folders)) / "folder"
            folder.mkdir(parents=True)
            READERS[name].make(folder)
            READERS[name].read(folder)  # imports, and caches words
            self._folders[name] = folder, READERS[name].read(folder)
            self._memory = _Memory()
        return self._folders[name]


def _limit_address_space() -> None:
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 3 * MAX_GROWTH, resource.RLIM_INFINITY))


def main(position: Path) -> None:
    """Run the jobs of standard input; POSITION has 8 bytes."""
    signal.signal(signal.SIGALRM, _stop)
    warnings.simplefilter("error")
    tempfile.tempdir = str(position.parent)  # in memory, if it can be
    with position.open("r+b") as file, mmap.mmap(file.fileno(), 8) as shared:
        worker = Worker(position.parent, shared)
        for line in sys.stdin:
            report = worker.run(Job(*json.loads(line)))
            sys.stdout.write(json.dumps(vars(report)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
