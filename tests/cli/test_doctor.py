"""`elmore doctor` says what a text holds: JSON in a pipe, a page on a terminal."""

import sys
from pathlib import Path

import pytest

from .conftest import Refused, Run

FLAGS = (
    "--recipe", "tiny", "--processes", 1, "--measure-s", 0, "--tokenizer", "whitespace",
    "--cell-dim", 16, "--projection-dim", 8, "--filters", "1:4,2:8", "--batch-size", 4,
    "--unroll-steps", 5, "--n-samples", 10,
)  # fmt: skip


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"the {k} words of line {k // 2} here\n" for k in range(90)))
    return path


def test_json_in_a_pipe(elmore: Run, text: Path) -> None:
    (facts,) = elmore("doctor", text, *FLAGS).records
    assert facts["text"]["n_lines"] == facts["text"]["n_sentences"] == 90
    assert facts["text"]["n_words"] == 630
    assert facts["vocabulary"]["softmax"] == "sampled"
    parts = [size for name, size in facts["memory"].items() if name != "total"]
    assert facts["memory"]["total"] == sum(parts)
    assert facts["time"]["total_s"] > facts["time"]["training_s"] > 0
    assert facts["advice"]


def test_a_page_on_a_terminal(elmore: Run, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "72")
    result = elmore("doctor", text, *FLAGS)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0].startswith("text        1 file, ")
    assert lines[0].endswith(" 90 lines, 90 sentences")
    assert [line.split()[0] for line in lines if line[0] != " "] == [
        "text", "vocabulary", "network", "time", "advice",
    ]  # fmt: skip
    assert sum("<- this recipe" in line for line in lines) == 1
    advice = lines[next(k for k, line in enumerate(lines) if line.startswith("advice")) :]
    assert max(map(len, advice)) <= 72


def test_a_page_without_time(elmore: Run, text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    result = elmore("doctor", text, "--recipe", "tiny", "--batch-size", 64, "--processes", 1)
    assert "0 batches an epoch" in result.out
    assert "training cannot begin" in " ".join(result.out.split())


def test_it_refuses_what_pretrain_refuses(refused: Refused, text: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    for arguments, message in (
        ((empty,), "the text has no word to learn from"),
        ((tmp_path / "nowhere.txt",), "nowhere.txt does not exist; expected a file of text"),
        ((tmp_path,), "is a folder; name the files in it"),
        ((), "the text has no word to learn from (nothing)"),
        ((text, "--recipe", "huge"), "there is no recipe 'huge'"),
        ((text, "--batch-size", "0"), "batch_size is 0"),
    ):
        assert message in refused("doctor", *arguments)
