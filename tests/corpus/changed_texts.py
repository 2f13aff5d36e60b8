"""Texts that change while they are read."""

import os
from pathlib import Path
from typing import Any

import pytest

from elmore import versions

CHANGES = ("emptied", "replaced", "longer")


def change(path: Path, how: str) -> None:
    """Change a file in place: rotated, written anew with the same size, or appended to."""
    before = path.stat()
    if how == "emptied":
        path.write_bytes(b"")
    elif how == "replaced":
        path.write_bytes(path.read_bytes()[::-1])
    else:
        with path.open("ab") as file:
            file.write(b"\nmore")
    os.utime(path, ns=(0, before.st_mtime_ns + 10**6))  # the clock of a file may be coarse


def change_at_read(monkeypatch: pytest.MonkeyPatch, path: Path, how: str, number: int) -> list[int]:
    """Have a file change before it is read for the nth time; return whether it has."""
    monkeypatch.setattr(versions, "_BYTES_AT_ONCE", 64)
    given, n_reads, changed_at = versions._Watched.readinto, 0, list[int]()

    def readinto(self: Any, buffer: Any) -> int:
        nonlocal n_reads
        n_reads += self._name == str(path)
        if n_reads == number and not changed_at:
            change(path, how)
            changed_at.append(number)
        return given(self, buffer)

    monkeypatch.setattr(versions._Watched, "readinto", readinto)
    return changed_at
