"""`elmore verify`: each file with a line, and exit 2 for a folder that is damaged."""

import json
from pathlib import Path

import pytest

from elmore import StaticVectors
from tests.pretrain.small_runs import small_flags, write_text

from .conftest import SMALL_TASK, Refused, Run, check_one_line


@pytest.fixture
def folder(elmore: Run, tiny_model: Path, tmp_path: Path) -> Path:
    assert elmore("convert", tiny_model, "--out", tmp_path / "model").code == 0
    return tmp_path / "model"


def test_a_whole_folder(elmore: Run, folder: Path) -> None:
    statuses = {line["file"]: line["status"] for line in elmore("verify", folder).records}
    assert statuses == {"config.json": "no checksum", "model.safetensors": "ok"}


@pytest.mark.parametrize("name", ["en", "ko"])
def test_the_bundled_models(elmore: Run, name: str) -> None:
    statuses = {line["file"]: line["status"] for line in elmore("verify", name).records}
    assert set(statuses) == {
        "config.json", "model.safetensors", "vocab.txt", "calibration.safetensors",
    }  # fmt: skip
    assert [name for name, status in statuses.items() if status != "ok"] == ["config.json"]


def test_one_flipped_bit(elmore: Run, refused: Refused, folder: Path) -> None:
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    result = elmore("verify", folder)
    assert result.code == 2
    check_one_line(result.err)
    assert "1 of 2 files are damaged" in result.err
    assert f"{path} is damaged: its checksum is" in result.err
    statuses = [json.loads(line)["status"] for line in result.out.splitlines()]
    assert statuses == ["no checksum", "damaged"]
    assert f"{path} is damaged" in refused("embed", "hi", "-m", folder)


def test_folders_without_checksums_are_read_and_get_them(elmore: Run, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    expected = config.pop("files")
    (folder / "config.json").write_text(json.dumps(config))
    statuses = {line["file"]: line["status"] for line in elmore("verify", folder).records}
    assert statuses == {"config.json": "no checksum", "model.safetensors": "no checksum"}
    assert elmore("convert", folder, "--out", folder.with_name("new")).code == 0
    new = json.loads((folder.with_name("new") / "config.json").read_text())
    assert new == config | {"files": expected}


def test_damage_that_only_reading_finds(elmore: Run, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    del config["files"]
    (folder / "config.json").write_text(json.dumps(config))
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-4] + b"\xff\xff\xff\xff")
    result = elmore("verify", folder)
    assert result.code == 2
    assert "weights that are not finite" in result.err


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "..", "a\\b", ""])
def test_names_that_lead_out_of_the_folder(refused: Refused, folder: Path, name: str) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["files"][name] = {"size": 1, "xxh3": "0" * 32}
    (folder / "config.json").write_text(json.dumps(config))
    assert "expected names of files beside it" in refused("verify", folder)
    assert "expected names of files beside it" in refused("info", folder)


def test_a_run_and_its_corpus(elmore: Run, tmp_path: Path) -> None:
    text, run = write_text(tmp_path / "text.txt"), tmp_path / "run"
    assert elmore("pretrain", text, "--out", run, *small_flags(n_epochs=0.2)).code == 0
    statuses = {line["file"]: line["status"] for line in elmore("verify", run).records}
    assert statuses.pop("model/config.json") == "no checksum"
    assert {"run.json", "last.safetensors", "corpus/manifest.json", "corpus/vocab.txt"} <= {
        *statuses
    }
    assert set(statuses.values()) == {"ok"}
    files = {line["file"]: line["status"] for line in elmore("verify", run / "corpus").records}
    assert {f"corpus/{name}": status for name, status in files.items()}.items() <= statuses.items()
    vocab = run / "corpus/vocab.txt"
    vocab.write_bytes(vocab.read_bytes().replace(b"w1", b"w2", 1))
    for folder in (run, run / "corpus"):
        result = elmore("verify", folder)
        assert result.code == 2
        assert f"{vocab} is damaged: its checksum is" in result.err


def test_a_folder_of_another_kind(refused: Refused, tiny_model: Path) -> None:
    assert "is no folder that verify knows" in refused("verify", tiny_model)


def test_an_index(elmore: Run, index: Path) -> None:
    statuses = {line["file"]: line["status"] for line in elmore("verify", index).records}
    assert set(statuses) == {
        "index.json", "vectors-0.f16", "vectors-1.f16", "vectors-2.f16", "occurrences.i32",
        "sentences.txt", "sentences.i64", "words.txt", "checksums.u64",
    }  # fmt: skip
    assert set(statuses.values()) == {"ok"}
    (index / "sentences.txt").write_bytes(b"x" * (index / "sentences.txt").stat().st_size)
    result = elmore("verify", index)
    assert result.code == 2
    assert "1 of 9 files are damaged" in result.err


def test_a_task_and_static_vectors(elmore: Run, texts: Path, static: Path, tmp_path: Path) -> None:
    StaticVectors.load(static).save(tmp_path / "static")
    made = elmore(
        "train", "classify", "--train", texts, "--elmo", "none", "--static", tmp_path / "static",
        "--out", tmp_path / "task", *SMALL_TASK,
    )  # fmt: skip
    assert made.code == 0
    data = {"task": ["model.safetensors"], "static": ["vocab.txt", "vectors.npy"]}
    for name, files in data.items():
        statuses = {
            line["file"]: line["status"] for line in elmore("verify", tmp_path / name).records
        }
        assert statuses == dict.fromkeys(["config.json", *files], "ok")
        path = tmp_path / name / files[-1]
        path.write_bytes(path.read_bytes()[:-1])
        result = elmore("verify", tmp_path / name)
        assert result.code == 2
        check_one_line(result.err)
        assert f"{path} is damaged" in result.err
