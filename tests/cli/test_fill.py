"""`elmore fill` and `elmore calibrate` on the command line."""

import io
import json
from pathlib import Path

import pytest

from elmore.formats import write_native
from tests.model.test_context import scoring_model

from .conftest import Refused, Run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_native(scoring_model(), tmp_path / "model")
    return tmp_path / "model"


def test_blanks_and_words(elmore: Run, model: Path) -> None:
    first, second, third = elmore(
        "fill", "the ___ bank", "___ of ___", "--model", model, "-n", 2
    ).records
    assert (first["text"], first["place"], first["tokens"]) == (0, 1, ["the", "___", "bank"])
    assert (second["place"], third["place"]) == (0, 2)
    assert len(first["words"]) == len(first["probabilities"]) == 2
    (named,) = elmore("fill", "the river bank", "-m", model, "--word", "river", "-n", 2).records
    assert named["words"] == first["words"]
    (left,) = elmore("fill", "the ___ bank", "-m", model, "--sides", "left").records
    (other,) = elmore("fill", "the ___ of money", "-m", model, "--sides", "left").records
    assert left["words"] == other["words"]


def test_a_terminal_shows_the_text_as_it_was_given(
    elmore: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    said = ["fill", "사과를  ____ 먹었다.", "-m", model, "-n", 1, "--tokenizer", "korean"]
    assert elmore(*said).plain.splitlines()[0] == "사과를  ____ 먹었다."
    assert elmore(*said, "--word", "사과").plain.splitlines()[0] == "사과를  ____ 먹었다."


def test_standard_input(elmore: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO("은행 ___\n\na ___\n".encode()), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    assert [one["text"] for one in elmore("fill", "--model", model).records] == [0, 1]


def test_what_is_refused(refused: Refused, model: Path, tiny_model: Path, tmp_path: Path) -> None:
    assert "text 0 has no blank" in refused("fill", "the bank", "--model", model)
    assert "without its softmax" in refused("fill", "the ___", "--model", tiny_model)
    assert "n is 0" in refused("fill", "the ___", "--model", model, "-n", 0)
    assert "there is no text to calibrate on" in refused(
        "calibrate", model, "--out", tmp_path / "new"
    )
    text = tmp_path / "text.txt"
    text.write_text("a\n")
    assert "exists already" in refused("calibrate", model, text, "--out", model)
    assert "the text has 1 words" in refused("calibrate", model, text, "--out", tmp_path / "new")


def test_calibrate_info_and_convert(elmore: Run, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("the river bank .\nthe bank of a river\n")
    (facts,) = elmore("calibrate", model, text, "--out", tmp_path / "new").records
    assert facts["tokens"] == 9
    assert facts["layers"] == [0, 1, 2, "context", "expected"]
    assert elmore("convert", tmp_path / "new", "--out", tmp_path / "converted").code == 0
    for name, calibration in (
        ("model", None),
        ("new", {"tokens": 9, "texts": ["text.txt"]}),
        ("converted", {"tokens": 9, "texts": ["text.txt"]}),
    ):
        (said,) = elmore("info", tmp_path / name).records
        assert said["calibration"] == calibration
    before = json.loads((model / "config.json").read_text())
    after = json.loads((tmp_path / "new/config.json").read_text())
    assert after["files"].keys() - before.pop("files").keys() == {"calibration.safetensors"}
    del after["files"]
    assert after == before
