"""One program at a time for each output: two that write to one place would spoil it for each other.

The lock is a file that the operating system releases however its holder ends, and that is removed
at a normal end. After a kill the file stays, and holds nobody up. Below everything, as errors.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from elmore.errors import ConfigError

LOCK = ".lock"


@contextmanager
def locked_folder(folder: Path, out: Path | None = None) -> Iterator[None]:
    """Hold a folder that is written in place; make it, and remove it if nothing came of it.

    `out` is what the user called the output, where that is not the folder itself.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file; a folder is to be written there")
    was_empty = folder.is_dir() and not any(folder.iterdir())
    try:
        with locked(folder / LOCK, out or folder):
            yield
    finally:
        if not was_empty:
            with suppress(OSError):  # it holds something, or another program has it by now
                folder.rmdir()


@contextmanager
def locked(lock: Path, out: Path) -> Iterator[None]:
    """Hold the file `lock` while `out` is written; refuse where another program holds it."""
    if sys.platform == "win32":  # which has no such locks
        make_folder(lock.parent)
        yield
        return
    with _hold(lock, out):
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def _hold(lock: Path, out: Path) -> IO[bytes]:
    for _ in range(100):
        make_folder(lock.parent)
        if lock.is_symlink():
            raise ConfigError(f"{lock} is a symbolic link; remove it, or choose another --out")
        with suppress(FileNotFoundError):  # where another program has just removed the folder
            file = try_hold(lock)
            if file is None:
                break
            if os.fstat(file.fileno()).st_nlink:
                return file
            file.close()  # its last holder has removed it after it was opened here
    raise ConfigError(f"another program is writing to {out}; wait for it, or choose another --out")


def lock_of(out: Path) -> Path:
    """Return the lock of an output in a folder of the user's."""
    return out.with_name(f".{out.name}.lock")


def try_hold(lock: Path) -> IO[bytes] | None:
    """Return the file `lock`, which is held until it is closed; None: another program holds it."""
    file = lock.open("ab")
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415  not on every system

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
    return file


def make_folder(folder: Path) -> None:
    """Make a folder with those that it is in; pathlib recurses, which fails in a long path."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
