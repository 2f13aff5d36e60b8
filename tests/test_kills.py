"""Commands that are killed at random moments and run again end as if nothing had happened.

`make kills KILLS=100` kills each command so often.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo, StaticVectors
from elmore.scale import embed_parts
from tests.formats.hub_stand_in import TOKEN, hub_stand_in
from tests.pretrain.small_runs import small_flags, write_text, write_vectors

N_KILLS = int(os.environ.get("ELMORE_KILLS", "3"))
HOME = Path(__file__).resolve().parents[1]  # from where `tests` is imported
BLOCKS = ["--block-bytes", "400", "--processes", "1"]
TASK = ["--n-epochs", "3", "--hidden-dim", "4", "--elmo", "none", "--tokenizer", "whitespace"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """The files that the commands read, by name."""
    text = write_text(tmp_path / "text.txt")
    rows = [("good film", "yes"), ("bad film", "no"), ("a good one", "yes"), ("a bad one", "no")]
    examples = tmp_path / "examples.tsv"
    examples.write_text("text\tlabel\n" + "".join(f"{a}\t{b}\n" for a, b in rows * 6))
    vectors = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    words = StaticVectors(["good", "bad", "film", "one", "a"], vectors)
    words.write_text(tmp_path / "words.txt")
    return {"text": text, "examples": examples, "words": tmp_path / "words.txt"}


def kill(tmp_path: Path, *arguments: object) -> None:
    (tmp_path / "runs").mkdir()
    command = [sys.executable, "-m", "tests.killer", tmp_path / "runs", N_KILLS, *arguments]
    done = subprocess.run(
        list(map(str, command)),
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        cwd=HOME,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["killed"] == N_KILLS


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("suffix", [".npz", ".h5", ".parquet", ".jsonl"])
def test_embed(tmp_path: Path, files: dict[str, Path], tiny_model: Path, suffix: str) -> None:
    kill(tmp_path, "embed", files["text"], "-m", tiny_model, "--out", f"out{suffix}", "--overwrite")


def test_embed_into_a_folder(tmp_path: Path, files: dict[str, Path], tiny_model: Path) -> None:
    pytest.importorskip("pyarrow")
    kill(tmp_path, "embed", files["text"], "-m", tiny_model, "--out", "out/", *BLOCKS)


def test_index(tmp_path: Path, files: dict[str, Path], tiny_model: Path) -> None:
    flags = ["-m", tiny_model, "--layers", "top", *BLOCKS]
    kill(tmp_path, "index", files["text"], *flags, "--out", "out")


def test_file_addresses(tmp_path: Path, files: dict[str, Path], tiny_model: Path) -> None:
    """file:// is the local disk."""
    pytest.importorskip("pyarrow")
    text, out = f"file://{files['text']}", "file://HERE/out"
    kill(tmp_path, "embed", text, "-m", tiny_model, "--out", out, *BLOCKS)


@pytest.mark.parametrize(
    ("command", "out"),
    [
        (("convert", "--to", "elmore"), "out"),
        (("convert", "--to", "bilm-tf"), "out"),
        (("export",), "out.onnx"),
    ],
)
def test_models(tmp_path: Path, tiny_model: Path, command: tuple[str, ...], out: str) -> None:
    if out == "out.onnx":
        pytest.importorskip("onnx")
        kill(tmp_path, *command, tiny_model, "--to", out)
    else:
        kill(tmp_path, *command, tiny_model, "--out", out)


def test_calibrate(tmp_path: Path, files: dict[str, Path], tiny_model: Path) -> None:
    kill(tmp_path, "calibrate", tiny_model, files["text"], "--out", "out")


@pytest.mark.parametrize("out", ["out.parquet", "out.lance", "out/"])
def test_export_vectors(tmp_path: Path, files: dict[str, Path], tiny_elmo: Elmo, out: str) -> None:
    pytest.importorskip("pyarrow")
    if out == "out.lance":
        pytest.importorskip("lancedb")
    embed_parts(tiny_elmo, [files["text"]], tmp_path / "vectors", block_bytes=400)
    kill(tmp_path, "export-vectors", tmp_path / "vectors", "--out", out)


def test_push(tmp_path: Path, tiny_model: Path) -> None:
    """The hub has a whole model or none, whenever an upload is killed."""
    pytest.importorskip("huggingface_hub")
    command = [sys.executable, "-m", "elmore", "push", str(tiny_model), "me/elmo"]
    with hub_stand_in() as hub:
        environment = os.environ | {
            "HF_ENDPOINT": hub.address, "HF_TOKEN": TOKEN, "HF_HOME": str(tmp_path),
            "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TMPDIR": str(tmp_path),
        }  # fmt: skip
        for _ in range(2):  # the first also compiles
            began = time.monotonic()
            subprocess.run(command, env=environment, capture_output=True, check=True)
            longest_s = time.monotonic() - began
        repository, rng = hub.repositories["me/elmo"], random.Random(1)
        whole, n_killed = repository.commits[repository.branches["main"]], 0
        while n_killed < N_KILLS:
            repository.commits.clear()
            repository.branches.clear()
            process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
            try:  # most of the time is that of imports
                process.wait(rng.uniform(0.5, 1) * longest_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                n_killed += 1
            assert all(files == whole for files in repository.commits.values())
            assert set(repository.branches.values()) <= set(repository.commits)
        subprocess.run(command, env=environment, capture_output=True, check=True)
        assert repository.commits[repository.branches["main"]] == whole


def test_pretrain(tmp_path: Path, files: dict[str, Path]) -> None:
    flags = small_flags(
        n_epochs=2.0, held_out=0.1, evaluate_every=7, checkpoint_every=2, dropout=0.2,
        static=str(write_vectors(tmp_path / "vectors.txt")),
    )  # fmt: skip
    kill(tmp_path, "pretrain", files["text"], *flags, "--out", "out")


def test_train(tmp_path: Path, files: dict[str, Path]) -> None:
    flags = ["--train", files["examples"], "--static", files["words"], *TASK]
    kill(tmp_path, "train", "classify", *flags, "--out", "out")


def test_compare(tmp_path: Path, files: dict[str, Path]) -> None:
    flags = ["--train", files["examples"], "--static", files["words"], *TASK]
    flags += ["--variants", "static", "--n-seeds", "2"]
    kill(tmp_path, "compare", "classify", *flags, "--out", "out")


def test_skipgram(tmp_path: Path, files: dict[str, Path]) -> None:
    pytest.importorskip("gensim")
    flags = ["--tokenizer", "whitespace", "--dim", "4", "--min-count", "1", "--n-epochs", "1"]
    kill(tmp_path, "skipgram", files["text"], *flags, "--out", "out")
