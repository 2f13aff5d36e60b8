"""Two processes on half of the batch each are one process on all of it."""

import json
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from elmore.errors import ConfigError
from elmore.pretrain.checkpoint import read_checkpoint
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.run import pretrain
from tests.pretrain.small_runs import small, small_flags, start, write_text, write_vectors

pytestmark = pytest.mark.slow

RUN: dict[str, Any] = {
    "optimizer": "adagrad", "learning_rate": 0.2, "softmax": "sampled", "n_samples": 8,
    "dropout": 0.2, "accumulate": 2, "held_out": 0.1, "evaluate_every": 10, "n_epochs": 4.0,
}  # fmt: skip


def run(folder: Path, text: Path, flags: list[str]) -> None:
    process = start("pretrain", text, "--out", folder, *flags, torchrun=2)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert out.count("trained for") == 1  # the first speaks for all


def run_stopped(folder: Path, text: Path, flags: list[str]) -> None:
    """Stop a run in its middle, by the signal that torchrun hands on."""
    process = start("pretrain", text, "--out", folder, *flags, torchrun=2)
    metrics = folder / "metrics.jsonl"
    while process.poll() is None and not (
        metrics.exists() and metrics.read_bytes().count(b"\n") >= 8
    ):
        time.sleep(0.005)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert err.count("the same command resumes from here") == 2
    assert not (folder / "model").exists()


def check_close(run: Path, expected: Path) -> None:
    lines = [(folder / "metrics.jsonl").read_text().splitlines() for folder in (run, expected)]
    for line, wanted in zip(*lines, strict=True):
        assert json.loads(line) == pytest.approx(json.loads(wanted), rel=1e-5, abs=1e-5)
    found, weights = (load_file(folder / "model/model.safetensors") for folder in (run, expected))
    for name, tensor in weights.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-5, rtol=1e-5)


def test_two_processes_are_one(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text.txt")
    static = str(write_vectors(tmp_path / "vectors.txt", words=range(4, 20)))
    with_table = RUN | {"static": static, "word_dropout": 0.3}
    recipe, flags = small(**with_table), small_flags(**with_table)
    one, two, stopped, alone = (tmp_path / name for name in ("one", "two", "stopped", "alone"))
    pretrain([text], one, recipe)
    run(two, text, flags)
    check_close(two, one)
    run_stopped(stopped, text, flags)
    n_updates = [
        read_checkpoint(folder / "last.safetensors").facts["update"] for folder in (stopped, two)
    ]
    assert 8 <= n_updates[0] < n_updates[1]
    shutil.copytree(stopped, alone)
    run(stopped, text, flags)
    for name in ("metrics.jsonl", "model/model.safetensors"):
        assert (stopped / name).read_bytes() == (two / name).read_bytes()
    pretrain([text], alone, recipe)
    check_close(alone, one)


def test_a_batch_that_cannot_be_shared(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text.txt")
    process = start(
        "pretrain", text, "--out", tmp_path / "run", *small_flags(batch_size=3), torchrun=2
    )
    _, err = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "elmore: batch_size is 3; expected a multiple of the 2 processes\n" in err
    assert "elmore/pretrain/" not in err  # no traceback of ours; torchrun has its own


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE is 2, but RANK is not set; start several processes with"),
        ({"RANK": "first"}, "the environment has RANK=first; expected a number, or unset it"),
    ],
)
def test_an_environment_that_torchrun_did_not_make(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], said: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=said):
        ProcessGroup()
