"""SIGINT (Ctrl-C) and SIGTERM in, a list of received signals out: work stops at a safe point."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signal() -> Iterator[list[int]]:
    """Yield a list to which SIGINT and SIGTERM are appended instead of ending the process."""
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)

    is_main = threading.current_thread() is threading.main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    before = [signal.signal(number, receive) for number in signals]
    try:
        yield received
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
