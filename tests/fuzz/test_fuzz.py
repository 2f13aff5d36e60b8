"""A few seconds of `make fuzz`, always the same cases."""

import pytest

from tests.fuzz.__main__ import FAILURES, run_worker
from tests.fuzz.worker import targets

N_CASES = 15


@pytest.mark.slow
def test_only_elmore_errors_come_out() -> None:
    seen = list(run_worker(0, N_CASES))
    assert [one for one in seen if one[2] in FAILURES] == []
    refused = {target for target, _, outcome, _ in seen if outcome == "refused"}
    assert refused == {f"{name}: {file}" for name, file in targets()}
    assert len(seen) > 0.9 * N_CASES * len(targets())
