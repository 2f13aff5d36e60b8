"""What cannot be done is refused in one line that says why, and leaves nothing behind."""

import io
import os
import sys
from pathlib import Path

import pytest

from .conftest import Refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sing"], "sing"),
        (["info", "one", "two"], "two"),
        (["embed", "hi", "--colour", "red"], "--colour"),
        (["embed", "hi", "--model"], "--model"),
        (["embed", "hi", "--no-keep-sentence-marks"], "--no-keep-sentence-marks"),
        (["embed", "hi", "--layers", "foo"], "foo"),
        (["embed", "hi", "--dtype", "float64"], "float64"),
        (["embed", "hi", "--batch-tokens", "many"], "many"),
    ],
)
def test_words_the_command_line_does_not_know(
    refused: Refused, arguments: list[str], message: str
) -> None:
    assert message in refused(*arguments)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--layers", "9"],
            "layers is 9; expected mix, all, top, context, expected, or one of 0, 1, 2",
        ),
        (["--layers", "3"], "layers is 3"),
        (["--layers", "-1"], "got '-1', expected mix, all, top"),
        (["--layers", "1.5"], "1.5"),  # not rounded to a layer that nobody asked for
        (["--tokenizer", "klingon"], "'klingon'; known: whitespace, english"),
        (["--batch-tokens", "0"], "0; expected at least 1"),
        (["--batch-tokens", "-5"], "-5"),
        (["--vocab", "none.txt"], "none.txt"),
        (["--word-vectors", "none.h5"], "none.h5"),
    ],
)
@pytest.mark.parametrize("out", [True, False])
def test_values_a_flag_cannot_have(
    *,
    refused: Refused,
    tiny_model: Path,
    tmp_path: Path,
    flags: list[str],
    message: str,
    out: bool,
) -> None:
    target = ["--out", tmp_path / "out.jsonl"] if out else []
    assert message in refused("embed", "hi", "-m", tiny_model, *flags, *target)


@pytest.mark.parametrize("suffix", [".jsonl", ".npz", ".h5", ".parquet"])
@pytest.mark.parametrize("folder", ["none", "file", "/proc/none"])
def test_an_output_that_cannot_be_made(
    refused: Refused, tiny_model: Path, tmp_path: Path, folder: str, suffix: str
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / folder / f"out{suffix}"
    assert f"out{suffix}" in refused("embed", "hi", "-m", tiny_model, "--out", out)


@pytest.mark.parametrize("name", ["out", "out.txt", "out.JSONL", "out.jsonl.gz"])
def test_an_output_of_no_known_format(
    refused: Refused, tiny_model: Path, tmp_path: Path, name: str
) -> None:
    message = refused("embed", "hi", "-m", tiny_model, "--out", tmp_path / name)
    assert name in message
    assert ".jsonl, .npz, .h5, .hdf5, .parquet" in message


def test_an_output_that_is_a_folder(refused: Refused, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "out.npz").mkdir()
    assert "out.npz" in refused("embed", "hi", "-m", tiny_model, "--out", tmp_path / "out.npz")


@pytest.mark.parametrize(
    "name", ["corpus.txt", "./corpus", "../corpus", "/none/corpus", "~/none", "data/a.tsv"]
)
def test_a_file_that_is_not_there_is_no_text(
    refused: Refused, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"there is no file {name}" in refused("embed", name, "-m", tiny_model)


@pytest.mark.parametrize("suffix", [".jsonl", ".npz", ".h5", ".parquet"])
def test_a_file_that_is_not_utf8(
    refused: Refused, tiny_model: Path, tmp_path: Path, suffix: str
) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_bytes(b"good\n" * 300 + b"caf\xe9\n" + b"good\n")  # beyond the first block
    message = refused("embed", corpus, "-m", tiny_model, "--out", tmp_path / f"out{suffix}")
    assert f"{corpus} is not UTF-8: line 301, byte 4 (0xe9)" in message


def test_an_argument_that_is_not_utf8(refused: Refused, tiny_model: Path) -> None:
    assert "not UTF-8" in refused("embed", "fine", os.fsdecode(b"caf\xe9"), "-m", tiny_model)


def test_standard_input_that_is_not_utf8(
    refused: Refused, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"good\n\xff\n")))
    assert "standard input is not UTF-8: line 2" in refused("embed", "-m", tiny_model)


def test_nothing_to_embed_on_a_terminal(
    refused: Refused, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal, end = os.openpty()
    with open(end, encoding="utf-8") as stdin, monkeypatch.context() as patch:  # noqa: PTH123
        patch.setattr(sys, "stdin", stdin)
        assert "there is nothing to read" in refused("embed", "-m", tiny_model)
    os.close(terminal)
