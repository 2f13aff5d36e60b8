"""Jobs on several threads: all done at the end, whatever other callers do."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event, Thread

import numpy as np
import pytest

from elmore.engine import parallel


def test_every_job_is_done_once(threads: int) -> None:
    counts = np.zeros(100, np.int64)

    def count(number: int) -> None:
        counts[number] += 1

    with ThreadPoolExecutor(4) as callers:
        mine = [[partial(count, k) for k in range(i, 100, 8)] for i in range(8)]
        list(callers.map(parallel.run_all, mine))
    assert (counts == 1).all()
    parallel.run_all([])


def test_a_caller_does_not_wait_for_the_jobs_of_another() -> None:
    before = parallel.n_threads()
    parallel.set_n_threads(2)
    begun, done = Event(), Event()
    try:
        other = Thread(target=parallel.run_all, args=([begun.set] + [done.wait] * 4,))
        other.start()
        begun.wait()
        mine = Thread(target=parallel.run_all, args=([lambda: None] * 2,))
        mine.start()
        mine.join(timeout=30)
        assert not mine.is_alive()
    finally:
        done.set()
        other.join()
        parallel.set_n_threads(before)


def test_an_error_reaches_the_caller_once_nothing_runs_any_more() -> None:
    before = parallel.n_threads()
    parallel.set_n_threads(3)
    all_begun, failed, finished = [Event() for _ in range(3)], Event(), Event()

    def fail(mine: Event) -> None:
        mine.set()
        for one in all_begun:
            one.wait()
        failed.set()
        raise ZeroDivisionError

    def last(mine: Event) -> None:
        mine.set()
        failed.wait()
        finished.wait(0.1)
        finished.set()

    jobs = [partial(fail, all_begun[0]), partial(fail, all_begun[1]), partial(last, all_begun[2])]
    try:
        with pytest.raises(ZeroDivisionError):
            parallel.run_all(jobs)
        assert finished.is_set()
    finally:
        parallel.set_n_threads(before)


def test_after_an_error_no_more_jobs_are_begun(threads: int) -> None:
    n_done = 0

    def count() -> None:
        nonlocal n_done
        n_done += 1

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        parallel.run_all([*[fail] * threads, count, count])
    assert n_done == 0


def test_no_thread_can_be_had_once_the_main_one_has_ended() -> None:
    code = """
import threading
from elmore.engine import parallel

def late():
    threading.main_thread().join()
    done = []
    parallel.run_all([lambda: done.append(1)] * 4)
    print(len(done))

parallel.set_n_threads(4)
threading.Thread(target=late).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4"], done.stderr


def test_a_thread_that_cannot_be_started_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(self: Thread) -> None:
        raise RuntimeError("can't start new thread")

    before, done = parallel.n_threads(), []
    parallel.set_n_threads(3)
    monkeypatch.setattr(Thread, "start", start)
    try:
        parallel.run_all([partial(done.append, number) for number in range(5)])
        assert done == [0, 1, 2, 3, 4]
    finally:
        parallel.set_n_threads(before)
