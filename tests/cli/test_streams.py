"""Standard streams that are closed or of another encoding, and names that are not UTF-8."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Run, check_one_line, write_corpus

ELMORE = f"{sys.executable} -m elmore"


def shell(command: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        ["/bin/sh", "-c", command], env={**os.environ, **environment}, capture_output=True,
        check=False, timeout=300,
    )  # fmt: skip


def test_closed_streams() -> None:
    found = shell(f"{ELMORE} models >&-")
    assert found.returncode == 2
    check_one_line(found.stderr.decode())
    assert b"standard output is closed" in found.stderr
    assert shell(f"{ELMORE} models 2>&-").returncode == 0
    failed = shell(f"{ELMORE} info nothing 2>&-")
    assert (failed.returncode, failed.stdout) == (2, b"")
    empty = shell(f"{ELMORE} embed <&-")
    assert empty.returncode in (0, 2)
    assert b"Traceback" not in empty.stderr


def test_a_terminal_that_lacks_characters(index: Path) -> None:
    command = f"{ELMORE} neighbours 'the bank 은행 é' --word bank --in {index} -n 2"
    found = shell(command, PYTHONIOENCODING="latin-1")
    assert (found.returncode, found.stderr) == (0, b"")
    assert json.loads(found.stdout)["text"] == "the bank 은행 é"
    inside = (
        "import sys; sys.stdout.isatty = lambda: True; from elmore.cli.main import main; main()"
    )
    table = command.replace("-m elmore", f'-c "{inside}"').replace("--word bank", "--word 은행")
    found = shell(table, PYTHONIOENCODING="latin-1")
    assert (found.returncode, found.stderr) == (0, b"")
    assert "layer 2" in found.stdout.decode("latin-1")


@pytest.mark.skipif(sys.platform != "linux", reason="file names are Unicode elsewhere")
def test_names_that_are_not_utf8(elmore: Run, tmp_path: Path, tiny_model: Path) -> None:
    corpus = tmp_path / os.fsdecode(b"caf\xe9.txt")
    write_corpus(tmp_path / "corpus.txt", 5, 1).rename(corpus)
    out = tmp_path / os.fsdecode(b"ind\xe9x")
    words = ["-m", tiny_model, "--tokenizer", "whitespace"]
    first = elmore("index", corpus, "--out", out, *words)
    assert (first.code, first.err) == (0, "")
    assert json.loads(first.out)["index"].endswith("ind?x")
    assert json.loads((out / "index.json").read_text())["corpus"][0]["name"] == "caf?.txt"
    assert elmore("index", corpus, "--out", out, *words).out == first.out
    near = elmore("neighbours", "the bank", "--word", "bank", "--in", out)
    assert (near.code, near.err) == (0, "")
    assert elmore("verify", out).code == 0
    done = elmore("embed", corpus, "--out", tmp_path / os.fsdecode(b"v\xe9.npz"), *words)
    assert (done.code, done.err) == (0, "")
