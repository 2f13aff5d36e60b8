"""Two threads that share the cores: each gets half of torch's own threads.

Within a matrix product of this size torch's threads gain little, and they slow down badly when
another program takes a core; two independent halves of the work do not.

Threads do not live on in a forked child (gunicorn, torch's DataLoader, multiprocessing), where
waiting for one would last for ever: a child of a program that has used these threads computes with
one thread, as DataLoader's workers do anyway. It may set torch's number of threads again.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from threading import Barrier, Lock
from weakref import WeakMethod

import torch

Job = Callable[[], None]


class TwoThreads:
    """Runs jobs two at a time, or one after the other where torch has only one thread.

    With `use=False` it starts no threads: devices other than the CPU do not need them.
    """

    def __init__(self, *, use: bool = True) -> None:
        self._use = use
        self._pool: ThreadPoolExecutor | None = None
        self._n_threads = 0
        self._lock = Lock()
        after_fork_in_child(self._forget)

    def both(self, work: Callable[[int], None]) -> None:
        """Run work(0) and work(1)."""
        self.all([partial(work, 0), partial(work, 1)])

    def all(self, jobs: Sequence[Job]) -> None:
        """Run the jobs, each in one thread."""
        inference = torch.is_inference_mode_enabled()

        def run(job: Job) -> None:
            # These modes are per thread, so they are set in each.
            with torch.inference_mode(inference), torch.no_grad():
                job()

        n_threads = torch.get_num_threads()
        if n_threads == 1 or not self._use:
            for job in jobs:
                run(job)
        else:
            list(self._threads(n_threads).map(run, jobs))

    def _threads(self, n_threads: int) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None or self._n_threads != n_threads:
                self._pool, self._n_threads = self._start(n_threads), n_threads
            return self._pool

    def _forget(self) -> None:
        """Leave the parent's threads, and its lock, which another thread may have held."""
        self._lock = Lock()
        if self._pool is not None:
            self._pool = None
            torch.set_num_threads(1)

    @staticmethod
    def _start(n_threads: int) -> ThreadPoolExecutor:
        both_started = Barrier(2)

        def start() -> None:
            torch.set_num_threads(n_threads // 2)
            # Read it now: torch fixes a thread's number when it is first read.
            assert torch.get_num_threads() == n_threads // 2
            both_started.wait()

        pool = ThreadPoolExecutor(2, thread_name_prefix="elmore", initializer=start)
        list(pool.map(int, (0, 1)))
        torch.set_num_threads(n_threads)  # the threads have changed the process's setting
        return pool


_after_fork: set[WeakMethod[Callable[[], None]]] = set()  # a hook of the system stays for ever


def after_fork_in_child(method: Callable[[], None]) -> None:
    """Call a bound method in every forked child, as long as its object lives."""
    _register()
    _after_fork.add(WeakMethod(method, _after_fork.discard))


@cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):  # Windows has no fork
        os.register_at_fork(after_in_child=_call_all)


def _call_all() -> None:
    for reference in list(_after_fork):
        if (found := reference()) is not None:
            found()
