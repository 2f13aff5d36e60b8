"""Files of every kind give the same lines, and a damaged one gives an error."""

import bz2
import gzip
import io
import json
import lzma
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from elmore.corpus.files import read_texts
from elmore.errors import DataError, MissingExtraError

zstandard = pytest.importorskip("zstandard")

TEXTS = ["한국어 문장 .", "two words", "an odd\u2028space\x85and\x0bmore"]
LINES = "\n".join(["", TEXTS[0], "  \t", TEXTS[1] + "\r", TEXTS[2], ""]).encode()
RECORDS = "".join(
    json.dumps({"text": text, "n": 1}) + "\n" for text in ["\n".join(TEXTS[:2]), "", TEXTS[2]]
).encode()
CSV = 'n,text\n1,"{}\n{}"\n2,\n3,{}\n'.format(*TEXTS).encode()
TSV = "text\tn\n{}\t1\n\t2\n{}\t3\n{}\t4\n".format(*TEXTS).encode("utf-8-sig")


def zipped(content: bytes, *names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("inside.txt",):
            archive.writestr(name, content)
    return file.getvalue()


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".zip": zipped,
}


def read(path: Path, field: str = "text") -> list[str]:
    return list(read_texts([path], field))


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", LINES),
        ("a", LINES),
        ("a.2024", LINES),
        ("a.jsonl", RECORDS),
        ("a.b.JSONL", RECORDS),
        ("a.json", RECORDS),
        ("a.csv", CSV),
        ("a.tsv", TSV),
    ],
)
def test_every_kind_gives_the_same_lines(
    tmp_path: Path, name: str, content: bytes, compression: str
) -> None:
    path = tmp_path / (name + compression)
    path.write_bytes(COMPRESSORS[compression](content))
    assert read(path) == TEXTS


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_archives_one_behind_the_other_are_one_text(tmp_path: Path, compression: str) -> None:
    path = tmp_path / f"a.txt{compression}"
    half = len(LINES) // 2
    path.write_bytes(
        COMPRESSORS[compression](LINES[:half]) + COMPRESSORS[compression](LINES[half:])
    )
    assert read(path) == TEXTS


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst", ".zip"])
def test_a_damaged_archive_is_an_error(tmp_path: Path, compression: str) -> None:
    text = "".join(f"line {i} {i * i}\n" for i in range(20_000)).encode()
    packed = COMPRESSORS[compression](text)
    path = tmp_path / f"a.txt{compression}"
    for content in (b"", packed[:2], packed[:-1], packed[: len(packed) // 2], b"no archive"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"a\.txt\.\w+ is damaged or truncated"):
            read(path)


def test_a_zip_of_several_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(LINES, "one.txt", "two.txt"))
    with pytest.raises(DataError, match="holds 2 files; extract the one that you want"):
        read(tmp_path / "a.zip")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    table = pyarrow.table({"n": [1, 2], "body": ["\n".join(TEXTS[:2]), TEXTS[2]]})
    parquet.write_table(table, path)
    assert read(path, "body") == TEXTS
    with pytest.raises(DataError, match=r"has no field 'text'; name one of 'n', 'body'"):
        read(path)
    with pytest.raises(DataError, match=r"a\.parquet, row 1 has a int in field 'n'"):
        read(path, "n")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="is damaged or truncated"):
        read(path, "body")


def test_files_follow_one_another_and_standard_input_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\ufefffirst".encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    assert list(read_texts([path, Path("-"), path], "text")) == ["first", *TEXTS, "first"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON"),
        ("[" * 100_000, "line 2 is not JSON"),
        ("[]", "line 2 holds a JSON list; expected an object a line"),
        ('{"body": "a"}', "line 2 has no field 'text'"),
        ('{"text": null}', "line 2 has a NoneType in field 'text'; expected a string"),
    ],
)
def test_a_wrong_record_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "good"}\n' + line)
    with pytest.raises(DataError, match=rf"a\.jsonl, {message}"):
        read(path)


def test_half_a_character_of_json_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(r'{"text": "a\ud800b \ud83d\ude00"}')
    assert read(path) == ["ab 😀"]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\n\x80\x01")
    with pytest.raises(DataError, match=r"a\.txt is not UTF-8: line 2, byte 1"):
        read(path)


def test_folders_and_missing_files_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    good = tmp_path / "a.txt"
    good.write_text("good")
    with pytest.raises(DataError, match="is a folder; name the files in it"):
        next(read_texts([good, tmp_path], "text"))
    with pytest.raises(DataError, match="does not exist"):
        next(read_texts([good, tmp_path / "none"], "text"))


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [("zstandard", "a.zst", "pretrain"), ("pyarrow", "a.parquet", "parquet")],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, extra: str
) -> None:
    (tmp_path / name).write_bytes(b"content")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'elmore\[{extra}\]'"):
        read(tmp_path / name)


@pytest.mark.parametrize("packing", COMPRESSORS)
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.tsv"])
def test_a_line_without_end_is_refused_where_it_is_too_long(
    tmp_path: Path, name: str, packing: str
) -> None:
    path = tmp_path / f"{name}{packing}"
    first = b'{"text": "x"}\n' if "json" in name else b"text\n"
    path.write_bytes(COMPRESSORS[packing](first + b"a" * 30_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match="has more than 100,000 bytes in line 2; check"):
            list(read_texts([path], "text", max_line_bytes=100_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12_000_000


def test_short_lines_of_zstandard_take_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.zst"
    path.write_bytes(COMPRESSORS[".zst"](b"one line\n" * 4_000_000))
    tracemalloc.start()
    try:
        texts = read_texts([path], "text")
        assert [next(texts) for _ in range(1000)] == ["one line"] * 1000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12_000_000


def test_a_zip_that_is_encrypted_or_of_an_unknown_method(tmp_path: Path) -> None:
    whole = zipped(LINES)
    central = whole.index(b"PK\x01\x02")
    for place, value, message in (
        (8, 1, "is encrypted; decrypt it"),
        (10, 99, "cannot be decompressed .* extract it yourself"),
    ):
        content = bytearray(whole)
        content[central + place] = value
        content[place - 2] = value
        path = tmp_path / "a.zip"
        path.write_bytes(content)
        with pytest.raises(DataError, match=message):
            read(path)


def test_errors_of_parquet_are_one_line(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": ["one", "two"] * 500}), path)
    whole = path.read_bytes()
    n_refused = 0
    for place in range(4, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with suppress(DataError):
            read(path)
            continue
        n_refused += 1
        with pytest.raises(DataError, match=r"^[^\n]+$"):
            read(path)
    assert n_refused


def test_a_zip_whose_table_of_contents_is_damaged(tmp_path: Path) -> None:
    """Found by `make fuzz`: a negative offset, a version of the future, a name of no length."""
    whole = zipped(LINES)
    central, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    for place, value in (
        (end + 12, b"\xff\xff\xff\x7f"),
        (central + 6, b"\xff"),
        (central + 28, b"\0"),
        (central + 42, b"\xff\xff\xff\x7f"),
    ):
        path = tmp_path / "a.zip"
        path.write_bytes(whole[:place] + value + whole[place + len(value) :])
        with pytest.raises(DataError, match=r"a\.zip (is damaged|cannot be decompressed|holds 0)"):
            read(path)


def test_names_of_fields_are_cut_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",".join(["x" * 5000] * 100) + "\n")
    path.write_text(path.read_text() + ",".join("y" * 100) + "\n")
    with pytest.raises(DataError, match="has no field 'text'") as caught:
        read(path)
    assert len(str(caught.value)) < 1000


def test_a_long_field_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text\n" + "a" * 200_000 + "\n")
    assert [len(line) for line in read_texts([path], "text")] == [200_000]
