"""A few seconds of `make fuzz`, always the same cases, with those that were found before."""

import pytest

from tests.fuzz.pool import run_jobs
from tests.fuzz.worker import FOUND, Job, found_cases, targets

N_CASES = 10


@pytest.mark.slow
def test_only_elmore_errors_come_out() -> None:
    jobs = [Job(name, file, 0, -len(found_cases(name, file)), N_CASES) for name, file in targets()]
    reports = dict(run_jobs(jobs, 2))
    assert {job: report.failures for job, report in reports.items() if report.failures} == {}
    assert [job for job in jobs if not reports[job].outcomes["refused"]] == []
    assert [job for job in jobs if reports[job].outcomes.total() != job.last - job.first] == []


def test_found_cases_are_of_a_reader() -> None:
    files = [path.relative_to(FOUND) for path in FOUND.rglob("*") if path.is_file()]
    found = {(path.parts[0], "/".join(path.parts[1:-1])) for path in files}
    assert found
    assert found <= set(targets())
