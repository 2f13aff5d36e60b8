"""Work in, futures out: threads for what takes long, which nobody waits for when a server ends.

Those of a ThreadPoolExecutor are joined when Python ends, however long their work still takes.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from threading import Thread
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class DaemonThreads(Executor):
    """Some threads that work off a queue, from the first work on."""

    def __init__(self, n_threads: int, name: str) -> None:
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            Thread(target=self._run, name=f"{name} {number}", daemon=True)
            for number in range(n_threads)
        ]

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue work."""
        future: Future[T] = Future()

        def do() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work(*args, **kwargs))
                except BaseException as error:
                    future.set_exception(error)

        self._waiting.put(do)
        for thread in self._threads:
            if thread.ident is None:
                thread.start()
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        """Drop what is queued, and end each thread after the work that it is at."""
        try:
            while True:
                self._waiting.get_nowait()
        except Empty:
            for _ in self._threads:
                self._waiting.put(None)

    def _run(self) -> None:
        while (do := self._waiting.get()) is not None:
            do()
            del do  # what it found is kept by nobody but its future
