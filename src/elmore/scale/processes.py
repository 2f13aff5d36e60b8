"""The blocks of a job in, their parts out, made by processes of this machine."""

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from elmore.corpus.parts import PartRecord
from elmore.corpus.workers import end_with_parent
from elmore.embed.block_job import BlockJob
from elmore.engine.parallel import set_n_threads
from elmore.errors import DataError

_BLOCKS_AHEAD = 2  # that wait for each process

_job: BlockJob | None = None  # of a worker


def run_in_processes(
    job: BlockJob, numbers: Sequence[int], n_processes: int
) -> Iterator[tuple[int, PartRecord]]:
    """Yield the number and the record of each part as it is finished."""
    n_processes = min(n_processes, len(numbers))
    if n_processes <= 1:
        for number in numbers:
            yield number, job.run(number)
        return
    pool = ProcessPoolExecutor(
        n_processes, mp_context=get_context("spawn"), initializer=_begin, initargs=(job,)
    )
    waiting: dict[Future[PartRecord], int] = {}
    left = list(reversed(numbers))
    try:
        while left or waiting:
            while left and len(waiting) < _BLOCKS_AHEAD * n_processes:
                number = left.pop()
                waiting[pool.submit(_run, number)] = number
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()
    except BrokenProcessPool:
        raise DataError(
            "a worker process was killed, perhaps because memory ran out; finished parts are kept, "
            "and the same command resumes; use fewer --processes"
        ) from None
    except KeyboardInterrupt:
        for worker in workers_of(pool):
            worker.terminate()  # nobody waits for its block
        raise
    finally:  # blocks that have begun are finished, and their parts kept
        pool.shutdown(cancel_futures=True)


def workers_of(pool: ProcessPoolExecutor) -> list[BaseProcess]:
    """Return the processes of a pool, which has no public name for them before Python 3.14."""
    return list((pool._processes or {}).values())


def _begin(job: BlockJob) -> None:
    global _job  # noqa: PLW0603  a worker has one
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver is told, and ends its workers
    end_with_parent()
    set_n_threads(1)  # each of the processes has a core
    _job = job


def _run(number: int) -> PartRecord:
    assert _job is not None
    return _job.run(number)
