"""What is not the program's own is never deleted, and two runs never share an output."""

from pathlib import Path

import numpy as np
import pytest

from elmore import StaticVectors
from elmore.locks import LOCK, locked, locked_folder
from tests.pretrain.small_runs import small_flags

from .conftest import Refused, Run

SMALL = ["--n-epochs", "1", "--hidden-dim", "4", "--elmo", "none"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the bank of the river is closed\n" * 60)
    return path


@pytest.fixture
def task(tmp_path: Path) -> list[object]:
    """The examples and the static vectors of a small task."""
    rows = "good film\tyes\nbad film\tno\n"
    (tmp_path / "texts.tsv").write_text("text\tlabel\n" + rows * 6)
    vectors = np.eye(3, dtype=np.float32)
    StaticVectors(["good", "bad", "film"], vectors).write_text(tmp_path / "vectors.txt")
    return ["--train", tmp_path / "texts.tsv", "--static", tmp_path / "vectors.txt", *SMALL]


@pytest.mark.parametrize(
    "name", ["model", "run.json", "metrics.jsonl", "tensorboard", "last.safetensors"]
)
def test_pretrain(refused: Refused, text: Path, tmp_path: Path, name: str) -> None:
    mine = tmp_path / "proj" / name
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("mine")
    if "." in name:
        (mine / "thesis.txt").unlink()
        mine.rmdir()
        mine.write_text('{"mine": true}')
    said = refused("pretrain", text, "--out", tmp_path / "proj", *small_flags())
    assert f"proj holds {name}, which no training run made; move it" in said


def test_pretrain_beside_other_files(elmore: Run, text: Path, tmp_path: Path) -> None:
    for name in ("notes", "corpus.mine.part", "model.new.mine.part", "model.newer"):
        (tmp_path / "proj" / name).mkdir(parents=True)
        (tmp_path / "proj" / name / "thesis.txt").write_text("mine")
    arguments = ("pretrain", text, "--out", tmp_path / "proj", *small_flags())
    assert elmore(*arguments).code == 0
    assert elmore(*arguments).code == 0  # which writes its model again
    assert len(list((tmp_path / "proj").glob("*/thesis.txt"))) == 4
    assert not (tmp_path / "proj" / LOCK).exists()


def test_pretrain_over_a_model_that_is_not_its_own(
    elmore: Run, refused: Refused, text: Path, tmp_path: Path
) -> None:
    arguments = ("pretrain", text, "--out", tmp_path / "proj", *small_flags())
    assert elmore(*arguments).code == 0
    (tmp_path / "proj/model/config.json").write_text('{"format": "mine"}')
    assert "holds model, which no training run made" in refused(*arguments)


def test_train(elmore: Run, refused: Refused, task: list[object], tmp_path: Path) -> None:
    (tmp_path / "out.run").mkdir()
    (tmp_path / "out.run/thesis.txt").write_text("mine")
    arguments = ("train", "classify", "--out", tmp_path / "out", *task)
    assert "out.run is needed for unfinished work, but something else is in" in refused(*arguments)
    (tmp_path / "out.run/thesis.txt").unlink()
    assert elmore(*arguments).code == 0
    assert not (tmp_path / "out.run/run.json").exists()
    (tmp_path / "out.run").mkdir(exist_ok=True)
    mine = {"run.json": '{"format": "mine"}', "last.safetensors": "mine"}
    for name, content in mine.items():
        (tmp_path / "out.run" / name).write_text(content)
    assert "out exists already" in refused(*arguments)
    for name, content in mine.items():
        assert (tmp_path / "out.run" / name).read_text() == content


@pytest.mark.parametrize("name", ["thesis.txt", "job.json", "000000.npz"])
def test_embed(
    elmore: Run, refused: Refused, tiny_model: Path, text: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "out.npz.blocks").mkdir()
    (tmp_path / "out.npz.blocks" / name).write_text("{}")
    arguments = ("embed", text, "-m", tiny_model, "--out", tmp_path / "out.npz")
    said = refused(*arguments)
    assert "out.npz.blocks is needed for unfinished work, but something else is in it" in said
    (tmp_path / "out.npz.blocks" / name).unlink()
    assert elmore(*arguments).code == 0
    assert sorted(path.name for path in tmp_path.glob("*out*")) in (
        ["out.npz"],
        ["out.npz", "out.npz.blocks"],  # an empty folder that was there before
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".npz", ".h5", ".parquet"])
def test_embed_follows_no_link(
    elmore: Run, tiny_model: Path, text: Path, tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f"out{suffix}.part").symlink_to(tmp_path / "mine")
    assert elmore("embed", text, "-m", tiny_model, "--out", tmp_path / f"out{suffix}").code == 0
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / f"out{suffix}.part").is_symlink()


def test_compare(refused: Refused, task: list[object], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/chart.png").write_text("mine")
    arguments = ("compare", "classify", "--out", tmp_path / "out", "--variants", "static", *task)
    assert "out is not empty and holds no comparison; choose another --out" in refused(*arguments)


# --- two runs -------------------------------------------------------------------------------------


def test_two_runs_at_once(
    refused: Refused, tiny_model: Path, text: Path, task: list[object], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with locked_folder(out):
        for arguments in (
            ("pretrain", text, *small_flags()),
            ("index", text, "-m", tiny_model),
            ("compare", "classify", "--variants", "static", *task),
        ):
            said = refused(*arguments, "--out", out)
            assert f"another program is writing to {out}; wait for it, or choose" in said
    with locked(tmp_path / ".out.lock", out):
        for arguments in (
            ("train", "classify", *task),
            ("skipgram", text, "--tokenizer", "whitespace", "--dim", "4"),
        ):
            assert f"another program is writing to {out}; " in refused(*arguments, "--out", out)
    out = tmp_path / "out.npz"
    with locked_folder(tmp_path / "out.npz.blocks"):
        said = refused("embed", text, "-m", tiny_model, "--out", out)
        assert f"another program is writing to {out}; wait for it, or choose another --out" in said


def test_no_lock_stays(
    elmore: Run, tiny_model: Path, text: Path, task: list[object], tmp_path: Path
) -> None:
    (tmp_path / "outs").mkdir()
    for name, arguments in {
        "pretrain": (text, *small_flags()),
        "index": (text, "-m", tiny_model),
        "compare": ("classify", "--variants", "static", *task),
        "train": ("classify", *task),
        "skipgram": (text, "--tokenizer", "whitespace", "--dim", "4"),
        "embed": (text, "-m", tiny_model),
    }.items():
        out = tmp_path / "outs" / (f"{name}.npz" if name == "embed" else name)
        assert elmore(name, *arguments, "--out", out).code == 0, name
        assert out.exists()
    assert len(list((tmp_path / "outs").iterdir())) == 6
    assert [path for path in (tmp_path / "outs").rglob("*") if "lock" in path.name] == []


# --- an index of another text ---------------------------------------------------------------------


def test_an_index_after_its_text_has_changed(
    elmore: Run, refused: Refused, tiny_model: Path, text: Path, tmp_path: Path
) -> None:
    arguments = ("index", text, "--out", tmp_path / "index", "-m", tiny_model)
    first = elmore(*arguments)
    assert elmore(*arguments).out == first.out
    before = text.read_text()
    text.write_text(before.replace("river", "money"))  # of the same size
    said = refused(*arguments)
    assert "index was built from other text than text.txt is now; choose another --out" in said
    text.write_text(before)
    assert elmore(*arguments).out == first.out
    assert "built from other text" in refused(*arguments, "--text-field", "body")
