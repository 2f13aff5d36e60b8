"""Looking at the processes that a process has started."""

import time
from pathlib import Path

import pytest


def workers_of(pid: int) -> list[int]:
    """Return the workers that a process has started, by `multiprocessing`."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("this system does not say what a process started")
    children = map(int, path.read_text().split())
    return [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def wait_until_gone(pids: list[int]) -> None:
    """Wait for the end of processes, at most a minute."""
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
