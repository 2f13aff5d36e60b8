"""Ctrl-C, or a request to end, in; a list that says so out: the work ends when it is ready to."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signal() -> Iterator[list[int]]:
    """Give a list that fills when Ctrl-C is pressed or the process is asked to end."""
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)

    is_ours = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if is_ours else ()
    before = [signal.signal(number, receive) for number in signals]
    try:
        yield received
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
