"""Jobs in, done by all cores: Python's threads around kernels, which hold no lock.

`OMP_NUM_THREADS` says how many threads there are; otherwise there is one for each core that this
process may use. What a job computes does not depend on their number. A child that is forked from a
process with such threads starts none: its parent's are not in it, and forked workers (DataLoader,
gunicorn) share the cores already.
"""

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Condition, Lock, local

import numpy as np

from elmore.kernels.library import Floats

Job = Callable[[], None]


class _Threads:
    def __init__(self) -> None:
        self.wanted: int | None = None
        self.pool: ThreadPoolExecutor | None = None
        self.lock = Lock()


_threads = _Threads()
_buffers = local()


def n_threads() -> int:
    """Return how many threads compute."""
    wanted = _threads.wanted
    if wanted is None:
        named = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
        wanted = int(named) if named.isdigit() and int(named) > 0 else _n_cores()
        _threads.wanted = wanted
    return wanted


def set_n_threads(n: int) -> None:
    """Compute with n threads from now on."""
    assert n > 0
    with _threads.lock:
        _threads.wanted, _threads.pool = n, None


def run_all(jobs: Sequence[Job]) -> None:
    """Run jobs, the first ones first, on all threads; this one is among them.

    After an error no further ones are begun. When this returns or raises, none is running.
    """
    n_others = min(n_threads(), len(jobs)) - 1
    if n_others > 0:
        _Jobs(jobs).run(n_others)
        return
    for job in jobs:
        job()


class _Jobs:
    """The jobs of one call; whoever works on them takes the next one, until there is none."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.waiting = deque(jobs)
        self.n_running = 0
        self.error: BaseException | None = None
        self.changed = Condition()

    def run(self, n_others: int) -> None:
        # Python starts no threads once its main one has ended, and a system not too many.
        with suppress(RuntimeError):
            pool = _pool()
            for _ in range(n_others):
                pool.submit(self.work)
        self.work()
        # Threads that are busy with the jobs of other callers are not waited for.
        with self.changed:
            self.changed.wait_for(lambda: self.n_running == 0)
        if self.error is not None:
            raise self.error

    def work(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except BaseException as error:
                self.error = self.error or error
                self.waiting.clear()
            finally:
                with self.changed:
                    self.n_running -= 1
                    self.changed.notify()

    def _next(self) -> Job | None:
        with self.changed:
            if not self.waiting:
                return None
            self.n_running += 1
            return self.waiting.popleft()


def workspace(name: str, size: int) -> Floats:
    """Return at least `size` numbers of this thread, for the name alone, whatever they hold."""
    buffers: dict[str, Floats] = _buffers.__dict__
    found = buffers.get(name)
    if found is None or len(found) < size:
        found = buffers[name] = np.empty(size, np.float32)
    return found


def _pool() -> ThreadPoolExecutor:
    with _threads.lock:
        if _threads.pool is None:
            _threads.pool = ThreadPoolExecutor(max(1, n_threads() - 1), "elmore")
        return _threads.pool


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _forget() -> None:
    if _threads.pool is not None:
        _threads.wanted, _threads.pool = 1, None
    _threads.lock = Lock()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget)
