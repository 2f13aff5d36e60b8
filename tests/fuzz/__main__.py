"""`make fuzz MINUTES=30`: damaged files for every reader until the time is over, and a table."""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

FAILURES = ("traceback", "believed", "slow", "memory", "crash")
CASES_AT_ONCE = 200
HOME = Path(__file__).resolve().parents[2]  # from where `tests` is imported


def run_worker(first: int, last: int, only: str = "") -> Iterator[tuple[str, int, str, str]]:
    """Give the target, case, outcome and message of each; a worker that dies is a crash."""
    command = [sys.executable, "-m", "tests.fuzz.worker", str(first), str(last), only]
    # Each thread of torch takes some of the memory that is limited.
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=HOME, env=environment
    ) as worker:
        lines: Queue[str] = Queue()
        stream = worker.stdout
        assert stream is not None

        def forward() -> None:
            with suppress(ValueError):  # the stream is closed
                for line in stream:
                    lines.put(line)
            lines.put("")

        Thread(target=forward, daemon=True).start()
        begun: tuple[str, int] | None = None
        try:
            while line := lines.get(timeout=120):  # the first one waits for imports
                target, case, outcome, message = json.loads(line)
                begun = (target, case) if outcome == "begun" else None
                if begun is None:
                    yield target, case, outcome, message
        except Empty:  # it hangs
            worker.kill()
        except GeneratorExit:
            worker.kill()
            raise
    if begun is not None:
        yield *begun, "crash", f"the process ended with {worker.returncode}"
    elif worker.returncode:
        yield "worker", first, "crash", f"the process ended with {worker.returncode}"


def main() -> int:
    """Run, print the table, and return 1 if anything failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--only", default="", help="readers whose name has this")
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    failures = []
    first = given.first
    while time.monotonic() < end:
        for target, case, outcome, message in run_worker(first, first + CASES_AT_ONCE, given.only):
            counts[target][outcome] += 1
            if outcome in FAILURES:
                failures.append((target, case, outcome, message))
                print(f"{outcome}: {target}, case {case}: {message}", flush=True)
            if time.monotonic() > end:
                break
        first += CASES_AT_ONCE
    columns = ("refused", "same", "other", *FAILURES)
    print(f"| file | tried | {' | '.join(columns)} |\n|---|{'---|' * (len(columns) + 1)}")
    for target, found in counts.items():
        numbers = " | ".join(str(found[column]) for column in columns)
        print(f"| {target} | {found.total():,} | {numbers} |")
    total = sum(found.total() for found in counts.values())
    print(f"{total:,} inputs, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
