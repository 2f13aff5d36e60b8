"""Requests in, their results out: what arrives together is computed together.

Each model has one thread. While it computes, requests wait in a queue; then it takes as many of
them, first come first served, as fit a budget of tokens, the first one whatever its size. Those
that ask for the same work are one call. The event loop only queues and is told of results.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from typing import Any, Protocol

from elmore.serve.limits import Limits
from elmore.serve.refusals import busy

_MOST_S = 2.0  # that the end of a thread is waited for


class Work(Hashable, Protocol):
    """Something to do with texts; equal ones are done in one call."""

    def __call__(self, texts: list[Any], /) -> Sequence[Any]:
        """Return a result for each text."""


@dataclass(frozen=True, eq=False)
class _Job:
    texts: Sequence[Any]
    n_tokens: int
    work: Work
    finish: Callable[[Any], Any]
    future: "asyncio.Future[list[Any]]"

    def answer(self, outcome: list[Any] | Exception) -> None:
        """Tell whoever waits, if someone still does."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class Batcher:
    """Computes for one model, in one thread."""

    def __init__(
        self, name: str, limits: Limits, on_batch: Callable[[int, int], None] = lambda *_: None
    ) -> None:
        self.name = name
        self.limits = limits
        self._on_batch = on_batch  # told the texts and the tokens of each batch
        self._waiting: deque[_Job] = deque()
        self._changed = Condition()
        self._stopping = False
        self._thread: Thread | None = None
        self.n_waiting = 0
        """Texts in the queue."""

    def start(self) -> None:
        """Start the thread."""
        self._thread = Thread(target=self._run, name=f"elmore {self.name}", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Compute what is in the queue, then end the thread; it is not waited for very long."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _MOST_S)

    async def submit(
        self,
        texts: Sequence[Any],
        n_tokens: int,
        work: Work,
        finish: Callable[[Any], Any] = lambda result: result,
    ) -> list[Any]:
        """Return what `finish` makes of the result of `work` for each text; both run in the thread.

        A full queue is refused.
        """
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            if self.n_waiting + len(texts) > self.limits.max_queue_texts:
                raise busy(
                    f"{self.n_waiting} texts wait for {self.name}, and "
                    f"{self.limits.max_queue_texts} may; try again in a second"
                )
            self._waiting.append(_Job(texts, n_tokens, work, finish, future))
            self.n_waiting += len(texts)
            self._changed.notify()
        found: list[Any] = await future
        return found

    def _run(self) -> None:
        while jobs := self._take():
            by_work: dict[Work, list[_Job]] = {}
            for job in jobs:
                by_work.setdefault(job.work, []).append(job)
            for work, alike in by_work.items():
                self._on_batch(
                    sum(len(job.texts) for job in alike), sum(job.n_tokens for job in alike)
                )
                outcomes = _compute(work, alike)
                loop = alike[0].future.get_loop()  # a server has one
                loop.call_soon_threadsafe(_answer, alike, outcomes)

    def _take(self) -> list[_Job]:
        """Wait for jobs, and take a batch of them; none when the server has stopped."""
        with self._changed:
            while True:
                taken: list[_Job] = []
                n_tokens = 0
                while self._waiting and (
                    not taken
                    or n_tokens + self._waiting[0].n_tokens <= self.limits.max_batch_tokens
                ):
                    job = self._waiting.popleft()
                    self.n_waiting -= len(job.texts)
                    if not job.future.cancelled():  # a request that was given up
                        taken.append(job)
                        n_tokens += job.n_tokens
                if taken or self._stopping:
                    return taken
                self._changed.wait()


def _compute(work: Work, jobs: list[_Job]) -> list[list[Any] | Exception]:
    """Return what each job gets. If one makes the call fail, each has a call of its own."""
    try:
        results = iter(work([text for job in jobs for text in job.texts]))
        return [[job.finish(next(results)) for _ in job.texts] for job in jobs]
    except Exception as error:
        if len(jobs) == 1:
            return [error]
        return [outcome for job in jobs for outcome in _compute(work, [job])]


def _answer(jobs: list[_Job], outcomes: list[list[Any] | Exception]) -> None:
    for job, outcome in zip(jobs, outcomes, strict=True):
        job.answer(outcome)
