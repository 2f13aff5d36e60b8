"""What the threads of an engine leave when it is gone, and in a forked child."""

import gc

from elmore.engine import threads
from elmore.engine.threads import TwoThreads


def test_an_engine_that_is_gone_leaves_no_hook() -> None:
    gc.collect()
    before = len(threads._after_fork)
    for _ in range(10):
        TwoThreads()
    kept = TwoThreads()
    gc.collect()
    assert len(threads._after_fork) == before + 1
    threads._call_all()
    assert kept._pool is None
