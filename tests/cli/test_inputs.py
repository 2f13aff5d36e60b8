"""Every kind of input is read as the texts that it holds, whichever command reads it."""

import gzip
import io
import json
import lzma
import sys
from pathlib import Path

import pytest

from .conftest import Refused, Run

TEXTS = ["the cat sat", "", "한국어 문장 ."]

FILES = {
    "a.txt": "\n".join(TEXTS),
    "a.jsonl": "".join(json.dumps({"n": 1, "text": text}) + "\n" for text in TEXTS),
    "a.json": "".join(json.dumps({"text": text}) + "\n" for text in TEXTS),
    "a.csv": "label,text\n" + "".join(f"1,{text}\n" for text in TEXTS),
    "a.tsv": "label\ttext\n" + "".join(f"1\t{text}\n" for text in TEXTS),
}


def tokens(result: object) -> list[list[str]]:
    return [record["tokens"] for record in result.records]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", FILES)
def test_embed_reads_every_kind(elmore: Run, tiny_model: Path, tmp_path: Path, name: str) -> None:
    content = FILES[name].encode()
    (tmp_path / name).write_bytes(content)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    (tmp_path / f"{name}.xz").write_bytes(lzma.compress(content))
    files = [tmp_path / f"{name}{suffix}" for suffix in ("", ".gz", ".xz")]
    found = elmore("embed", *files, "-m", tiny_model, "--tokenizer", "whitespace")
    assert tokens(found) == [text.split() for text in TEXTS] * 3


def test_parquet_and_its_field(
    elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path
) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs elmore[parquet]")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"body": ["two\nlines", "b"]}), tmp_path / "a.parquet")
    flags = ["embed", tmp_path / "a.parquet", "-m", tiny_model]
    assert tokens(elmore(*flags, "--text-field", "body")) == [["two", "lines"], ["b"]]
    assert "a.parquet has no field 'text'; name one of 'body'" in refused(*flags)


def test_a_hyphen_is_standard_input(
    elmore: Run, refused: Refused, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    found = elmore("embed", "zero", "-", "-m", tiny_model)
    assert tokens(found) == [["zero"], ["one"], ["two"]]
    assert "there is no option --laers" in refused("embed", "x", "-m", tiny_model, "--laers=all")


def test_other_commands_read_the_same(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    words = ["한국어", "cat", "sat", "the", "문장", "."]
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
        out = tmp_path / f"{name}-index"
        flags = ["--out", out, "-m", tiny_model, "--tokenizer", "whitespace"]
        (facts,) = elmore("index", tmp_path / name, *flags).records
        assert (facts["words"], facts["sentences"]) == (len(words), 2)
        assert sorted((out / "words.txt").read_text().split()) == sorted(words)


@pytest.mark.parametrize(
    "command",
    [
        ["embed", "{text}", "--model", "{model}"],
        ["index", "{text}", "--model", "{model}", "--out", "{out}"],
        ["perplexity", "en", "{text}"],
        ["calibrate", "{model}", "{text}", "--out", "{out}"],
        ["skipgram", "{text}", "--out", "{out}"],
        ["pretrain", "{text}", "--out", "{out}", "--recipe", "tiny", "--processes", "1"],
        ["doctor", "{text}", "--recipe", "tiny", "--processes", "1"],
    ],
    ids=lambda command: command[0],
)
def test_a_line_over_the_limit(
    elmore: Run, tiny_model: Path, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "a.txt").write_text("a b\n" + "c " * 100 + "\n")
    places = {"text": tmp_path / "a.txt", "model": tiny_model, "out": tmp_path / "out"}
    given = [part.format(**places) for part in command]
    result = elmore(*given, "--max-line-bytes", 150)
    assert result.code == 2
    assert "a.txt has more than 150 bytes in line 2; check" in result.err
    assert "--max-line-bytes" in elmore(command[0], "--help").out
    assert "max_line_bytes is 0; expected" in elmore(*given, "--max-line-bytes", 0).err
