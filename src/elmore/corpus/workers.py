"""Worker processes that do not outlive the process that started them."""

import os
from multiprocessing import parent_process
from multiprocessing.connection import wait
from threading import Thread


def end_with_parent() -> None:
    """End this process when its parent ends, also if that is killed.

    A worker of a `ProcessPoolExecutor` would wait for work for ever: each holds both ends of the
    pipe that it reads, so it never sees that the other side is gone.
    """
    Thread(target=_wait_and_end, daemon=True).start()


def _wait_and_end() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
