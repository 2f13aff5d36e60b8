"""`make fuzz MINUTES=30`: damaged files for every reader until the time is over, and a table.

All that was ever run with a seed is added up in the report, build/fuzz-SEED.json: the same command
repeats the cases that failed and continues, `--inputs 0 --workers 0` prints the table. A case has
the same number and content in every run.
"""

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from elmore.folders import write_json
from tests.fuzz.pool import run_jobs
from tests.fuzz.readers import READERS
from tests.fuzz.worker import Job, Report, found_cases

CASES_AT_ONCE = 250
COLUMNS = {
    "inputs": lambda found: f"{found.outcomes.total():,}",
    "refused": lambda found: f"{found.outcomes['refused']:,}",
    "unharmed": lambda found: f"{found.outcomes['unharmed']:,}",
    "no checksum, other result": lambda found: f"{found.outcomes['unnoticed']:,}",
    "checksum, but believed": lambda found: f"{found.outcomes['believed']:,}",
    "tracebacks": lambda found: f"{found.outcomes['traceback'] + found.outcomes['crash']:,}",
    "over 10 s or 1 GB": lambda found: f"{found.outcomes['slow'] + found.outcomes['memory']:,}",
    "slowest": lambda found: f"{found.slowest_s:.2f} s",
    "peak memory": lambda found: f"{found.peak / 2**20:.0f} MB" if found.peak else "< 8 MB",
}


class Progress:
    """What became of all cases so far, by reader and file."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.seed = path, seed
        self.reports: dict[str, dict[str, Report]] = defaultdict(lambda: defaultdict(Report))
        self._saved_at = 0.0
        if path.is_file():
            content = json.loads(path.read_text())
            for name, files in content["readers"].items():
                for file, found in files.items():
                    found["outcomes"] = Counter(found["outcomes"])
                    self.reports[name][file] = Report(**found)

    def add(self, job: Job, report: Report) -> None:
        """Add a job, also one that is run again, and write the report every few seconds."""
        total = self.reports[job.reader][job.file]
        for failure in list(total.failures):
            case, outcome, _ = failure
            if job.first <= case < job.last:
                total.failures.remove(failure)
                total.outcomes[outcome] -= 1
        total.add(report)
        if time.monotonic() > self._saved_at + 5:
            self.save()

    def save(self) -> None:
        """Write the report."""
        self.path.parent.mkdir(exist_ok=True)
        readers = {
            name: {file: vars(report) for file, report in files.items()}
            for name, files in self.reports.items()
        }
        write_json(self.path, {"seed": self.seed, "readers": readers})
        self._saved_at = time.monotonic()

    def jobs(self, readers: list[str], n_inputs: int, end: float) -> Iterator[Job]:
        """Give the next job of each file in turn until each reader has its share of the inputs.

        Cases that failed before come first. There are more files than workers, so that the cases
        of a file are run in order.
        """
        shares = {
            (name, file): -(-n_inputs // (len(readers) * len(READERS[name].files)))
            for name in readers
            for file in READERS[name].files
        }
        next_cases = {
            (name, file): self.reports[name][file].outcomes.total() - len(found_cases(name, file))
            for name, file in shares
        }
        for name, file in shares:
            for case, _, _ in list(self.reports[name][file].failures):
                yield Job(name, file, self.seed, case, case + 1)
        while True:
            left = [key for key, share in shares.items() if next_cases[key] < share]
            if not left:
                return
            for name, file in left:
                if time.monotonic() > end:
                    return
                first = next_cases[name, file]
                last = min(first + CASES_AT_ONCE, shares[name, file])
                next_cases[name, file] = last
                yield Job(name, file, self.seed, first, last)

    def table(self) -> Iterator[str]:
        """Give the lines of a Markdown table, a row a reader."""
        yield f"| reader | {' | '.join(COLUMNS)} |"
        yield f"|---|{'---:|' * len(COLUMNS)}"
        total = Report()
        for name, files in self.reports.items():
            found = _sum(files.values())
            total.add(found)
            if found.outcomes:
                yield _row(name, found)
        yield _row("all", total)

    def failures(self) -> Iterator[str]:
        """Give a line for each failure."""
        for name, files in self.reports.items():
            for file, report in files.items():
                for case, outcome, message in report.failures:
                    yield f"{outcome}: {name}: {file}, case {case}: {message}"


def _sum(reports: Iterable[Report]) -> Report:
    total = Report()
    for report in reports:
        total.add(report)
    return total


def _row(name: str, found: Report) -> str:
    return f"| {name} | {' | '.join(cell(found) for cell in COLUMNS.values())} |"


def main() -> int:
    """Run, print the table, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="in all, over all readers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="processes at once")
    parser.add_argument("--only", default="", help="readers whose name has this")
    parser.add_argument("--report", type=Path, help="default: build/fuzz-SEED.json")
    given = parser.parse_args()
    progress = Progress(given.report or Path(f"build/fuzz-{given.seed}.json"), given.seed)
    readers = [name for name in READERS if given.only in name]
    end = time.monotonic() + 60 * given.minutes
    for job, report in run_jobs(progress.jobs(readers, given.inputs, end), given.workers):
        progress.add(job, report)
        for case, outcome, message in report.failures:
            print(f"{outcome}: {job.reader}: {job.file}, case {case}: {message}", flush=True)
    progress.save()
    print("\n".join([*progress.table(), *progress.failures()]))
    return any(True for _ in progress.failures())


if __name__ == "__main__":
    sys.exit(main())
