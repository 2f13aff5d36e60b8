"""The workers that tokenize a corpus: killed, or left without the process that started them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elmore.corpus.config import CorpusConfig
from elmore.corpus.tokenizing import Piece, tokenize_pieces
from elmore.errors import DataError
from tests.processes import wait_until_gone, workers_of

PROGRAM = """
from itertools import repeat
from elmore.corpus.config import CorpusConfig
from elmore.corpus.tokenizing import Piece, tokenize_pieces

if __name__ == "__main__":
    reader = CorpusConfig().sentence_reader
    for _ in tokenize_pieces(repeat(Piece(["a sentence"], [])), reader, 2):
        print("piece", flush=True)
"""


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
    wait_until_gone(workers)


@pytest.mark.slow
def test_a_killed_worker() -> None:
    pieces = [Piece(["a sentence"], [])] * 20
    found = tokenize_pieces(pieces, CorpusConfig().sentence_reader, 2)
    next(found)
    for pid in workers_of(os.getpid()):
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(DataError, match="a worker process was killed, perhaps because memory"):
        list(found)
