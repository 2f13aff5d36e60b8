"""Every kind of input is read as the texts that it holds, whichever command reads it."""

import gzip
import io
import json
import lzma
import sys
import zipfile
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


def zip_of(*names: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return held.getvalue()


DOCUMENTS = {
    "paper.pdf": (
        b"%PDF-1.7\n%\xe2\xe3\n",
        "is a PDF, not text; extract its text, such as by pdfto",
    ),
    "a.docx": (zip_of("[Content_Types].xml", "word/document.xml"), "is a Word document, not text"),
    "a.xlsx": (
        zip_of("[Content_Types].xml", "xl/workbook.xml"),
        "is an Excel workbook, not text; save its sheet as CSV in UTF-8 (.csv)",
    ),
    "a.pptx": (zip_of("ppt/presentation.xml"), "is a PowerPoint presentation, not text"),
    "a.odt": (zip_of("mimetype", "META-INF/manifest.xml"), "is an OpenDocument or EPUB file"),
    "a.doc": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        "is an old Word or Excel file, not text; save it",
    ),
    "a.rtf": (b"{\\rtf1\\ansi hello}", "is an RTF document, not text; save it as plain text"),
    "a.csv": (zip_of("xl/workbook.xml"), "is an Excel workbook"),  # by what it is, not its name
    "b.txt": (gzip.compress(b"text"), "is compressed by gzip, not text; rename it .gz"),
    "c.txt": (zip_of("a.txt"), "is a zip archive, not text; rename it .zip, or extract it"),
    "d.txt": (b"PK\x03\x04 and no zip", "is a zip archive, not text"),
    "e.txt": (b"PAR1\x15\x04", "is a Parquet file, not text; rename it .parquet"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_named_as_what_they_are(
    refused: Refused, tiny_model: Path, tmp_path: Path, name: str
) -> None:
    content, message = DOCUMENTS[name]
    (tmp_path / name).write_bytes(content)
    assert f"{name} {message}" in refused("embed", tmp_path / name, "-m", tiny_model)
    out = ["--out", tmp_path / "out"]
    folder = ["--out", f"{tmp_path}/out/", "--processes", "1"]
    assert message in refused("embed", tmp_path / name, "-m", tiny_model, *folder)
    assert message in refused("pretrain", tmp_path / name, "--recipe", "tiny", *out)


def test_what_does_not_exist(refused: Refused, tiny_model: Path, tmp_path: Path) -> None:
    pattern = tmp_path / "texts/*.txt"
    for flags in (["embed", pattern, "-m", tiny_model], ["doctor", pattern]):
        assert f"no file matches {pattern}; check the folder" in refused(*flags)
    (tmp_path / "texts").mkdir()
    for flags, said in (
        ([], "texts/*.txt"),
        (["a.csv"], "texts/*.csv"),
        (["a.txt", "b.jsonl", "c.jsonl"], "texts/*.jsonl"),
    ):
        for name in flags:
            (tmp_path / "texts" / name).touch()
        for command in (["embed", "-m", tiny_model], ["doctor"]):
            message = refused(*command, f"{tmp_path}/texts/")
            assert f"name the files in it, such as {tmp_path}/{said}" in message
    assert "nowhere does not exist; expected the folder of a trained task" in refused(
        "predict", tmp_path / "nowhere", "text"
    )
    assert "a.csv is a file; expected the folder of a trained task" in refused(
        "predict", tmp_path / "texts/a.csv", "text"
    )


def test_csv_as_excel_writes_it(
    elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path
) -> None:
    flags = ["-m", tiny_model, "--tokenizer", "whitespace"]
    path = tmp_path / "a.csv"
    expected = [["the", "cat,", "sat"], ["a;", "b"]]
    for content in (
        'Nr;text;Wert\n1;the cat, sat;2,5\n2;"a; b";1,0\n',
        '\ufeffNr;text;Wert\r\n1;the cat, sat;2,5\r\n2;"a; b";1,0\r\n',
        "Nr\ttext\n1\tthe cat, sat\n2\ta; b\n",
        '"Nr","text"\r1,"the cat, sat"\r2,a; b\r',
        'text\n"the cat, sat"\na; b\n',
        'text,notes; more; of them\n"the cat, sat",x\na; b,y\n',
    ):
        path.write_bytes(content.encode())
        assert tokens(elmore("embed", path, *flags)) == expected
    path.write_bytes("Nr;text\n1;the cat\n2;caf\xe9\n".encode("latin-1"))
    said = refused("embed", path, *flags)
    assert "a.csv is not UTF-8: line 3, byte 6 (0xe9); save it as UTF-8 and try again" in said


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
