"""What only a process of its own shows: signals, pipes, full disks, and what it imports."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed import corpus as corpus_module
from elmore.embed.block_files import BlockSpool
from elmore.embed.corpus import spool_folder
from elmore.pretrain.trainer import Trainer
from elmore.senses import build as build_module
from elmore.tasks.fit import _Learner
from tests.pretrain.small_runs import small_flags

from .conftest import SMALL_TASK, Run, check_one_line

Commands = dict[str, list[Any]]

Start = Callable[..., subprocess.Popen[bytes]]
LIMITS = {".jsonl": 60_000, ".npz": 60_000, ".h5": 60_000, ".parquet": 8000, "": 8000}
"""Bytes that a file may have, by the suffix of the output: a disk that is full without being one.

Enough for the blocks that `embed` keeps on its way, too little for what it makes of them.
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `elmore` with arguments, after a statement of Python; it never outlives its test."""
    processes = []

    def call(*arguments: object, first: str = "", **streams: Any) -> subprocess.Popen[bytes]:
        program = f"{first}; from elmore.cli.main import main; main()"
        how = ["-c", program] if first else ["-m", "elmore"]
        command = [sys.executable, *how, *map(str, arguments)]
        processes.append(subprocess.Popen(command, stderr=subprocess.PIPE, **streams))
        return processes[-1]

    yield call
    for process in processes:
        process.kill()
        process.communicate()


def check_nothing_half_done(out: Path) -> None:
    """No output under its name or a passing one; finished blocks may stay, to resume from."""
    assert {path.name for path in out.parent.glob(f"{out.name}*")} <= {f"{out.name}.blocks"}
    assert list(out.parent.rglob("*.part")) == []


@pytest.mark.parametrize("verb", [[], ["embed"], ["convert"], ["pretrain"], ["doctor"]])
def test_help_needs_no_torch(verb: list[str]) -> None:
    program = (
        "import sys; from elmore.cli.main import run; "
        f"code = run({[*verb, '--help']!r}); sys.exit(code or 'torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"Usage: elmore" in result.stdout


def test_a_pipe_through_the_program(start: Start, tiny_model: Path) -> None:
    texts = ["The bank .", "", "은행 😀"]
    process = start("embed", "-m", tiny_model, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, err = process.communicate("\n".join(texts).encode(), timeout=60)
    assert (process.returncode, err) == (0, b"")
    records = [json.loads(line) for line in out.splitlines()]
    expected = Elmo.from_pretrained(tiny_model).encode_tokens(texts)
    assert [record["tokens"] for record in records] == [list(text.tokens) for text in expected]
    for record, text in zip(records, expected, strict=True):
        vectors = np.reshape(record["vectors"], text.vectors.shape)
        np.testing.assert_array_equal(np.float32(vectors), text.vectors)


def test_a_reader_that_has_seen_enough(start: Start, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("the quick brown fox\n" * 3000)
    process = start("embed", tmp_path / "corpus.txt", "-m", tiny_model, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["text"] == 0
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (141, b"")  # as a program that SIGPIPE ends


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm(
    start: Start, tiny_model: Path, tmp_path: Path, number: signal.Signals
) -> None:
    corpus, out = tmp_path / "corpus.txt", tmp_path / "out.jsonl"
    corpus.write_text("the quick brown fox jumps over the lazy dog .\n" * 100_000)
    # Whoever runs the tests in the background has made them deaf to it.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    flags = ["-m", tiny_model, "--out", out, "--tokenizer", "whitespace"]
    process = start("embed", corpus, *flags, first=listen)
    deadline = time.monotonic() + 60
    while list(tmp_path.iterdir()) == [corpus] and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)  # into the work
    assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    check_nothing_half_done(out)
    assert process.returncode == 130
    last = err.decode().splitlines()[-1]  # it may have finished a block or not
    assert last in ("stopped", "stopped; the same command resumes from here")
    assert b"Traceback" not in err


def test_overwriting_resumes_after_a_kill(
    start: Start, elmore: Run, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, out, fresh = (tmp_path / name for name in ("corpus.txt", "out.jsonl", "fresh.jsonl"))
    corpus.write_text("".join(f"the quick brown fox {i} times\n" for i in range(120)))
    out.write_text("old")
    small_slow_blocks = (
        "import time, torch; torch.set_num_threads(1); "
        "from elmore.embed import block_files, corpus; corpus._MAX_BLOCK_TOKENS = 40; "
        "add = block_files.BlockSpool.add; "
        "block_files.BlockSpool.add = lambda *given: (add(*given), time.sleep(0.2))"
    )
    command = ("embed", corpus, "-m", tiny_model, "--overwrite", "--out")
    process = start(*command, out, first=small_slow_blocks)
    deadline = time.monotonic() + 60
    while not (blocks := list(spool_folder(out).glob("*.npz"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert blocks
    assert out.read_text() == "old"
    added: list[int] = []
    add = BlockSpool.add
    monkeypatch.setattr(corpus_module, "_MAX_BLOCK_TOKENS", 40)
    monkeypatch.setattr(BlockSpool, "add", lambda *given: (added.append(1), add(*given)))
    assert elmore(*command, out).code == 0
    n_resumed = len(added)
    assert elmore(*command, fresh).code == 0
    assert out.read_bytes() == fresh.read_bytes()
    assert n_resumed < len(added) - n_resumed  # finished blocks are not encoded again
    assert not spool_folder(out).exists()


# --- full disks -----------------------------------------------------------------------------------


@pytest.fixture
def small_corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"the quick brown fox {i}\n" for i in range(100)))
    return path


@pytest.mark.parametrize(
    ("out", "arguments"),
    [
        ("out.jsonl", ["embed", "corpus.txt", "-m"]),
        ("out.npz", ["embed", "corpus.txt", "-m"]),
        ("out.parquet", ["embed", "corpus.txt", "-m"]),
        ("elmore", ["convert", "--to", "elmore"]),
    ],
)
def test_a_disk_that_fills_up(
    *,
    elmore: Run,
    tiny_model: Path,
    small_corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    out: str,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(small_corpus.parent)
    limit = LIMITS[Path(out).suffix]
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        result = elmore(*arguments, tiny_model, "--out", out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert result.code == 2
    check_one_line(result.err)
    check_nothing_half_done(small_corpus.with_name(out))


@pytest.mark.parametrize(
    ("out", "arguments"),
    [("out.h5", ["embed", "corpus.txt", "-m"]), ("bilm-tf", ["convert", "--to", "bilm-tf"])],
)
def test_a_disk_that_fills_up_under_hdf5(
    start: Start, tiny_model: Path, small_corpus: Path, out: str, arguments: list[str]
) -> None:
    """In processes of their own, because HDF5 may crash where it cannot write."""
    limit = LIMITS[Path(out).suffix]
    first = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({limit}, {limit}))"
    process = start(*arguments, tiny_model, "--out", out, first=first, cwd=small_corpus.parent)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    check_one_line(err.decode())
    check_nothing_half_done(small_corpus.with_name(out))


def test_standard_output_on_a_full_disk(start: Start, tiny_model: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = start("embed", "hi", "-m", tiny_model, stdout=full)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    check_one_line(err.decode())


# --- folders that cannot be written, or vanish ----------------------------------------------------


@pytest.fixture
def commands(tiny_model: Path, small_corpus: Path, texts: Path, static: Path) -> Commands:
    """Each command that writes, but for its --out."""
    task = ["classify", "--train", texts, "--static", static, "--elmo", "none", *SMALL_TASK]
    return {
        "embed": ["embed", small_corpus, "-m", tiny_model],
        "index": ["index", small_corpus, "-m", tiny_model],
        "pretrain": ["pretrain", small_corpus, *small_flags()],
        "train": ["train", *task],
        "compare": ["compare", *task, "--variants", "static", "--n-seeds", "1"],
        "skipgram": ["skipgram", small_corpus, "--dim", "4", "--min-count", "1"],
    }


NAMES = ["embed", "index", "pretrain", "train", "compare", "skipgram"]


@pytest.mark.skipif(not Path("/sys").is_dir(), reason="not even root may write there")
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_cannot_be_written(elmore: Run, commands: Commands, name: str) -> None:
    result = elmore(*commands[name], "--out", "/sys/out.jsonl")
    assert result.code == 2
    check_one_line(result.err)
    assert "/sys/" in result.err
    assert "out.jsonl" in result.err


@pytest.mark.parametrize("name", NAMES)
def test_a_disk_without_space(elmore: Run, commands: Commands, tmp_path: Path, name: str) -> None:
    """Little more than the first metadata fits; what is left is resumed, or there is nothing."""
    out = tmp_path / "outs/out.jsonl"
    out.parent.mkdir()
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, unlimited[1]))
    try:
        result = elmore(*commands[name], "--out", out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert result.code == 2
    check_one_line(result.err)
    assert list(out.parent.rglob("*.part")) == []
    assert [path for path in out.parent.rglob("*") if "lock" in path.name] == []
    assert elmore(*commands[name], "--out", out).code == 0
    assert [path.name for path in out.parent.iterdir()] == ["out.jsonl"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("embed", (BlockSpool, "add")),
        ("index", (build_module.IndexBuilder, "_append")),
        ("pretrain", (Trainer, "_save")),
        ("train", (_Learner, "checkpoint")),
    ],
)
def test_a_folder_that_is_removed_meanwhile(
    *,
    elmore: Run,
    commands: Commands,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: tuple[type, str],
) -> None:
    outs = tmp_path / "outs"
    outs.mkdir()
    method = getattr(*place)

    def remove_first(*given: Any, **named: Any) -> Any:
        shutil.rmtree(outs, ignore_errors=True)
        return method(*given, **named)

    monkeypatch.setattr(*place, remove_first)
    result = elmore(*commands[name], "--out", outs / "out.jsonl")
    assert result.code == 2
    check_one_line(result.err.splitlines(keepends=True)[-1])  # after the lines of progress
    assert "No such file or directory" in result.err
