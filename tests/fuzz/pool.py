"""Jobs in, what became of their cases out: worker processes, which are replaced when they die."""

import json
import os
import select
import struct
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Queue
from threading import Lock, Thread

from tests.fuzz.worker import Job, Report

HOME = Path(__file__).resolve().parents[2]  # from where `tests` is imported
SHARED_MEMORY = Path("/dev/shm")
HANG_S = 120  # without a case that ends: the first one waits for imports


def run_jobs(jobs: Iterable[Job], n_workers: int) -> Iterator[tuple[Job, Report]]:
    """Run each job in one of `n_workers` processes, and give its report as it ends.

    `jobs` is asked for the next one when a worker is free.
    """
    waiting, lock = iter(jobs), Lock()
    done: Queue[tuple[Job, Report] | BaseException | None] = Queue()

    def serve() -> None:
        try:
            work_off()
            done.put(None)
        except BaseException as error:
            done.put(error)

    def work_off() -> None:
        with tempfile.TemporaryDirectory(
            prefix="elmore-fuzz-", dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        ) as work:
            process = _Process(Path(work) / "0")
            n_dead = 0
            while True:
                with lock:
                    job = next(waiting, None)
                if job is None:
                    break
                report = Report()
                parts = deque([job])
                while parts:
                    part = parts.popleft()
                    found = process.run(part)
                    if isinstance(found, Report):
                        report.add(found)
                        continue
                    process.stop()
                    n_dead += 1
                    crash = (found, "crash", f"the process ended with {process.code}")
                    report.add(Report(Counter(["crash"]), failures=[crash]))
                    before, after = part._replace(last=found), part._replace(first=found + 1)
                    parts.extend(rest for rest in (before, after) if rest.first < rest.last)
                    process = _Process(Path(work) / str(n_dead))
                done.put((job, report))
            process.stop()

    threads = [Thread(target=serve, daemon=True) for _ in range(n_workers)]
    for thread in threads:
        thread.start()
    n_ended = 0
    while n_ended < n_workers:
        result = done.get()
        if isinstance(result, BaseException):
            raise result
        if result is None:
            n_ended += 1
        else:
            yield result


class _Process:
    """One worker, whose files are in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._position = folder / "position"
        self._position.write_bytes(bytes(8))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", str(self._position)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=HOME,
            # Each thread of torch takes some of the memory that is limited.
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def run(self, job: Job) -> Report | int:
        """Return the report of a job, or the case at which the process died or hung."""
        requests, replies = self._process.stdin, self._process.stdout
        assert requests is not None
        assert replies is not None
        self._position.write_bytes(struct.pack("<q", job.first))
        try:
            requests.write(json.dumps(job).encode() + b"\n")
            requests.flush()
        except BrokenPipeError:
            return job.first
        seen = None
        while not select.select([replies], [], [], HANG_S)[0]:
            if seen == (seen := self._position.read_bytes()):
                break
        else:
            if line := replies.readline():
                found = json.loads(line)
                return Report(**found | {"outcomes": Counter(found["outcomes"])})
        case: int = struct.unpack("<q", self._position.read_bytes())[0]
        return case

    @property
    def code(self) -> int | None:
        """The exit code of a process that has ended."""
        return self._process.returncode

    def stop(self) -> None:
        """End the process."""
        if self._process.poll() == 1:
            raise RuntimeError("the worker ended with an exception of its own")
        self._process.kill()
        self._process.communicate()
