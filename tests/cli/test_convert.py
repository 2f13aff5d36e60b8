"""`elmore convert` loses nothing on the way there and back."""

import json
import os
import pickle
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from safetensors.numpy import load_file

from elmore import Elmo

from .conftest import Refused, Run, everything_in

MANY_LANGS = Path(__file__).resolve().parents[1] / "formats/many_langs"
WORDS = ["<S>", "</S>", "<UNK>", "bank", "은행"]


@pytest.fixture
def published(broken_model: Path) -> Path:
    """The tiny model with a softmax, a vocabulary, and options that only training uses."""
    options = json.loads((broken_model / "options.json").read_text())
    options |= {"n_epochs": 10, "bidirectional": True}
    (broken_model / "options.json").write_text(json.dumps(options))
    rng = np.random.default_rng(0)
    with h5py.File(broken_model / "softmax.hdf5", "w") as file:
        file["softmax/W"] = rng.standard_normal((len(WORDS), 6)).astype(np.float32)
        file["softmax/b"] = rng.standard_normal(len(WORDS)).astype(np.float32)
    (broken_model / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    return broken_model


def arrays(path: Path) -> dict[str, np.ndarray]:
    found = {}

    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            found[name] = item[...]

    with h5py.File(path) as file:
        file.visititems(visit)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_there_and_back(elmore: Run, published: Path, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for arguments in ((published, "--out", ours), (ours, "--out", theirs, "--to", "bilm-tf")):
        result = elmore("convert", *arguments)
        (said,) = result.records
        folder = Path(str(arguments[2]))
        assert said["folder"] == str(folder)
        assert said["files"] == {path.name: path.stat().st_size for path in folder.iterdir()}
    assert set(contents(ours)) == {"config.json", "model.safetensors", "vocab.txt"}
    assert set(contents(theirs)) == set(contents(published))
    assert json.loads(contents(theirs)["options.json"]) == json.loads(
        contents(published)["options.json"]
    )
    assert contents(theirs)["vocab.txt"] == contents(published)["vocab.txt"]
    for name in ("weights.hdf5", "softmax.hdf5"):
        before, after = arrays(published / name), arrays(theirs / name)
        assert before.keys() == after.keys()
        for key, array in before.items():
            np.testing.assert_array_equal(after[key], array)
            assert after[key].dtype == array.dtype


def test_by_its_files(elmore: Run, published: Path, tmp_path: Path) -> None:
    files = [published / "options.json", published / "weights.hdf5"]
    more = ["--softmax", published / "softmax.hdf5", "--vocab", published / "vocab.txt"]
    elmore("convert", published, "--out", tmp_path / "folder")
    assert elmore("convert", *files, *more, "--out", tmp_path / "files").code == 0
    assert contents(tmp_path / "files") == contents(tmp_path / "folder")


def test_without_a_softmax(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    files = [tiny_model / "options.json", tiny_model / "weights.hdf5"]
    assert elmore("convert", *files, "--out", tmp_path / "deep" / "ours").code == 0
    text = ["The bank ."]
    expected = Elmo.from_pretrained(tiny_model).encode_tokens(text)[0].vectors
    found = Elmo.from_pretrained(tmp_path / "deep" / "ours").encode_tokens(text)[0].vectors
    np.testing.assert_array_equal(found, expected)


def test_float16(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    assert elmore("convert", tiny_model, "--out", tmp_path / "half", "--dtype", "float16").code == 0
    elmore("convert", tiny_model, "--out", tmp_path / "whole")
    half, whole = (load_file(tmp_path / f / "model.safetensors") for f in ("half", "whole"))
    assert half.keys() == whole.keys()
    for name, array in whole.items():
        assert array.dtype == np.float32
        assert half[name].dtype == np.float16
        np.testing.assert_array_equal(half[name], array.astype(np.float16))
    assert elmore("embed", "The bank .", "-m", tmp_path / "half").code == 0


def test_tokenizer_is_stored(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    elmore("convert", tiny_model, "--out", tmp_path / "ours", "--tokenizer", "whitespace")
    (facts,) = elmore("info", tmp_path / "ours").records
    assert facts["tokenizer"] == "whitespace"


def test_an_empty_folder_is_filled(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    assert elmore("convert", tiny_model, "--out", tmp_path / "ours").code == 0
    assert set(contents(tmp_path / "ours")) == {"config.json", "model.safetensors"}


@pytest.mark.parametrize("to", ["elmore", "bilm-tf"])
@pytest.mark.parametrize("out", ["broken", "broken/options.json", "broken/options.json/x"])
def test_nothing_is_overwritten(
    refused: Refused, tiny_model: Path, broken_model: Path, to: str, out: str
) -> None:
    refused("convert", tiny_model, "--out", broken_model.parent / out, "--to", to)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["options.json"], "give its weights too"),
        (["options.json", "options.json"], "is not a whole HDF5 file"),
        (["none.json", "weights.hdf5"], "none.json"),
        (["options.json", "none.hdf5"], "none.hdf5"),
        ([".", "--softmax", "softmax.hdf5"], "--softmax"),
        ([".", "--tokenizer", "klingon"], "'klingon'"),
        ([".", "--vocab", "none.txt"], "none.txt"),
        ([".", "--to", "onnx"], "onnx"),
        ([".", "--dtype", "float16", "--to", "bilm-tf"], "float16"),
    ],
)
def test_refusals(
    refused: Refused,
    broken_model: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(broken_model)
    assert message in refused("convert", *arguments, "--out", "../ours")


def test_out_is_needed(refused: Refused, tiny_model: Path) -> None:
    before = everything_in(tiny_model)
    assert "--out" in refused("convert", tiny_model)
    assert everything_in(tiny_model) == before


def test_a_model_of_elmoformanylangs(elmore: Run, tmp_path: Path) -> None:
    source = MANY_LANGS / "both"
    elmore("convert", source, "--out", tmp_path / "ours", "--tokenizer", "korean-eojeol")
    assert {path.name for path in (tmp_path / "ours").iterdir()} == {
        "alphabet.txt",
        "config.json",
        "model.safetensors",
        "vocab.txt",
    }
    texts = [["은행", "\u3000", "bank"]]
    original, ours = Elmo.from_pretrained(source), Elmo.from_pretrained(tmp_path / "ours")
    assert ours.tokenizer.name == "korean-eojeol"
    (expected,), (found,) = (one.encode_tokens(texts, layers="all") for one in (original, ours))
    assert np.array_equal(found.vectors, expected.vectors)
    assert all(check["status"] == "ok" for check in elmore("verify", tmp_path / "ours").records[1:])


class _Code:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("code-was-run",)


@pytest.mark.parametrize("command", ["info", "convert"])
def test_damaged_models_of_elmoformanylangs(
    command: str, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("--out", "ours") if command == "convert" else ()

    def said_of(file: str, content: bytes) -> str:
        shutil.copytree(MANY_LANGS / "both", "model", dirs_exist_ok=True)
        Path("model", file).write_bytes(content)
        return refused(command, "model", *options)

    weights = (MANY_LANGS / "both/encoder.pkl").read_bytes()
    characters = (MANY_LANGS / "both/char.dic").read_text("utf-8")
    code = pickle.dumps({"x": _Code()}, protocol=2)
    assert "encoder.pkl holds code (posix.mkdir), which is never run" in said_of(
        "encoder.pkl", code
    )
    assert not Path("code-was-run").exists()
    assert "encoder.pkl cannot be read as weights" in said_of("encoder.pkl", weights[:-100])
    other = characters + "힣\t25\n"
    assert "char.dic has 26 rows, but token_embedder.pkl was trained with 25" in said_of(
        "char.dic", other.encode()
    )
    assert not Path("ours").exists()
