"""Runs the command line in this process, and holds what every refusal has in common."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import StaticVectors
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


SMALL_TASK = [
    "--hidden-dim",
    "8",
    "--n-epochs",
    "3",
    "--batch-size",
    "8",
    "--tokenizer",
    "whitespace",
]


WORDS = {"river": ["water", "boat", "fish", "deep"], "money": ["loan", "cash", "credit", "rates"]}


def write_corpus(path: Path, n: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    lines = [
        " ".join(["the", "bank", *rng.choice(WORDS[kind], size=4)])
        for kind in WORDS
        for _ in range(n)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def index(elmore: Run, tiny_model: Path, tmp_path: Path) -> Path:
    corpus = write_corpus(tmp_path / "corpus.txt", 20, 1)
    out = tmp_path / "index"
    done = elmore(
        "index", corpus, "--out", out, "-m", tiny_model, "--tokenizer", "whitespace",
        "--layers", "all",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    (facts,) = done.records
    assert (facts["occurrences"], facts["layers"]) == (240, [0, 1, 2])
    return out


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rows = [("good film", "yes"), ("bad film", "no"), ("a good one", "yes"), ("a bad one", "no")]
    path = tmp_path / "texts.tsv"
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows * 5))
    return path


@pytest.fixture
def static(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    StaticVectors(["good", "bad", "film", "one", "a"], vectors).write_text(tmp_path / "vectors.txt")
    return tmp_path / "vectors.txt"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, of a megabyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
