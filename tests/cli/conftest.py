"""Runs the command line in this process, and holds what every refusal has in common."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from elmore.cli.main import run


@dataclass(frozen=True)
class Result:
    """What a command left: its exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def plain(self) -> str:
        """Standard output without colours."""
        return re.sub(r"\x1b\[[\d;]*m", "", self.out)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The JSON Lines of a command that succeeded."""
        assert (self.code, self.err) == (0, "")
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Result]
Refused = Callable[..., str]


@pytest.fixture
def elmore(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `elmore` with arguments."""

    def call(*arguments: object) -> Result:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def refused(elmore: Run, tmp_path: Path) -> Refused:
    """Run what must be refused in one line, leaving tmp_path as it was; return the message."""

    def call(*arguments: object) -> str:
        before = everything_in(tmp_path)
        result = elmore(*arguments)
        assert (result.code, result.out) == (2, "")
        check_one_line(result.err)
        assert everything_in(tmp_path) == before
        return result.err

    return call


def check_one_line(err: str) -> None:
    assert err.startswith("elmore: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1


def everything_in(folder: Path) -> dict[Path, bytes | None]:
    paths = sorted(folder.rglob("*"))
    return {path: path.read_bytes() if path.is_file() else None for path in paths}


@pytest.fixture
def broken_model(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model, to be broken."""
    return Path(shutil.copytree(tiny_model, tmp_path / "broken"))
