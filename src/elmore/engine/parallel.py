"""Jobs in, done by all cores: Python's threads around kernels, which hold no lock.

`OMP_NUM_THREADS` says how many threads there are; otherwise there is one for each core that this
process may use. What a job computes does not depend on their number. A forked child starts none:
its parent's are not in it, and forked workers (DataLoader, gunicorn) share the cores already.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local

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
    if _threads.wanted is None:
        named = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
        _threads.wanted = int(named) if named.isdigit() and int(named) > 0 else _n_cores()
    return _threads.wanted


def set_n_threads(n: int) -> None:
    """Compute with n threads from now on."""
    assert n > 0
    _threads.wanted, _threads.pool = n, None


def run_all(jobs: Sequence[Job]) -> None:
    """Run jobs, the first ones first, on all threads; this one is among them."""
    n = min(n_threads(), len(jobs))
    if n <= 1:
        for job in jobs:
            job()
        return
    with _threads.lock:
        if _threads.pool is None:
            _threads.pool = ThreadPoolExecutor(n_threads() - 1, thread_name_prefix="elmore")
        pool = _threads.pool
    waiting = iter(jobs)  # next() of a list's iterator is atomic

    def work() -> None:
        for job in waiting:
            job()

    others = [pool.submit(work) for _ in range(n - 1)]
    try:
        work()
    finally:
        for other in others:
            other.result()


def workspace(name: str, size: int) -> Floats:
    """Return at least `size` numbers of this thread, for the name alone, whatever they hold."""
    buffers: dict[str, Floats] = _buffers.__dict__
    found = buffers.get(name)
    if found is None or len(found) < size:
        found = buffers[name] = np.empty(size, np.float32)
    return found


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
