"""Held-out and lowercased lines are drawn by their numbers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elmore.corpus import tokenizing
from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.corpus.sentence_reader import SentenceReader
from elmore.corpus.shards import Split
from elmore.errors import DataError


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "text.txt"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def test_held_out_lines_are_spread_and_never_all(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(10_000)]
    held_out = [
        number
        for number, (_, is_held_out) in enumerate(tokenizing.draw_held_out(lines, 0.05))
        if is_held_out
    ]
    assert 400 < len(held_out) < 600
    assert all(80 < sum(n // 2000 == fifth for n in held_out) < 120 for fifth in range(5))
    longer = [h for _, h in tokenizing.draw_held_out(lines * 2, 0.05)]
    assert [number for number in range(10_000) if longer[number]] == held_out

    def draw(n_lines: int, share: float) -> list[bool]:
        return [h for _, h in tokenizing.draw_held_out(["x"] * n_lines, share)]

    assert draw(0, 0.5) == []
    assert draw(1, 0.5) == [False]
    assert draw(2, 1e-9) == [False, True]
    assert draw(5, 1e-9) == [False] * 4 + [True]
    assert not any(draw(1000, 0))

    one = prepare([write(tmp_path, ["a sentence"])], tmp_path / "one", CorpusConfig())
    assert one.training.n_words == 2
    assert one.held_out == Split(0, 0, 0, ())


def test_a_share_of_the_training_lines_is_lower_case() -> None:
    lines = [("The Bank", k % 10 == 0) for k in range(2000)]
    lowered = list(tokenizing.lower_some(lines, 0.3))
    assert [held_out for _, held_out in lowered] == [held_out for _, held_out in lines]
    assert {line for line, held_out in lowered if held_out} == {"The Bank"}
    n_lower = sum(line == "the bank" for line, held_out in lowered if not held_out)
    assert 0.25 * 1800 < n_lower < 0.35 * 1800
    assert lowered == list(tokenizing.lower_some(lines, 0.3))
    assert list(tokenizing.lower_some(lines, 0.0)) == lines


PROGRAM = """
from itertools import repeat
from elmore.corpus.config import CorpusConfig
from elmore.corpus.tokenizing import Piece, tokenize_pieces

if __name__ == "__main__":
    reader = CorpusConfig().sentence_reader
    for _ in tokenize_pieces(repeat(Piece(["a sentence"], [])), reader, 2):
        print("piece", flush=True)
"""


def workers_of(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("this system does not say what a process started")
    return [
        child
        for child in map(int, path.read_text().split())
        if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


@pytest.mark.slow
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"piece\n"
        workers = workers_of(run.pid)
        run.kill()
    assert len(workers) == 2
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


@pytest.mark.slow
def test_a_killed_worker() -> None:
    pieces = [tokenizing.Piece(["a sentence"], [])] * 20
    reader: SentenceReader = CorpusConfig().sentence_reader
    found = tokenizing.tokenize_pieces(pieces, reader, 2)
    next(found)
    for pid in workers_of(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(DataError, match="a worker process was killed, perhaps because memory"):
        list(found)
