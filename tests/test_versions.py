"""A text that changes while it is read is refused, whatever kind of file it is."""

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import zipfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from elmore import versions
from elmore.checksums import checked_files, describe_file
from elmore.corpus.blocks import BlockReader, plan_blocks
from elmore.corpus.config import CorpusConfig
from elmore.corpus.files import describe_text, read_texts
from elmore.corpus.prepare import prepare
from elmore.errors import DataError, FormatError
from elmore.formats import read_pretrained, write_native
from elmore.formats.safetensors_files import parse_safetensors
from elmore.stores import as_path
from elmore.versions import Version, open_file, unchanged, version_of, versions_of
from tests.corpus.changed_texts import CHANGES, change, change_at_read

LINES = [f"the {number} banks of {number * number} rivers" for number in range(400)]


def write(path: Path) -> Path:
    content = "\n".join(LINES).encode()
    if "jsonl" in path.name:
        content = "\n".join(json.dumps({"text": line}) for line in LINES).encode()
    elif ".csv" in path.name or ".tsv" in path.name:
        content = "\n".join(["text", *LINES]).encode()
    elif path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"text": LINES}), path, row_group_size=20)
        return path
    compress: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
    }  # fmt: skip
    if path.suffix == ".zst":
        content = pytest.importorskip("zstandard").ZstdCompressor().compress(content)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("text.txt", content)
        return path
    path.write_bytes(compress.get(path.suffix, bytes)(content))
    return path


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    "name",
    ["a.txt", "a.gz", "a.bz2", "a.xz", "a.zst", "a.zip", "a.jsonl", "a.csv", "a.tsv.gz",
     "a.parquet"],
)  # fmt: skip
def test_a_file_that_changes_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: str
) -> None:
    path = write(tmp_path / name)
    assert list(read_texts([path], "text")) == LINES
    change_at_read(monkeypatch, path, change, 2)
    with pytest.raises(DataError, match=rf"{name} changed while it was read \((from|same size)"):
        list(read_texts([path], "text"))


def test_what_was_read_before_a_change_was_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.txt")
    change_at_read(monkeypatch, path, "replaced", 30)
    found = list[str]()
    with pytest.raises(DataError, match=r"a\.txt changed while it was read \(same size\)"):
        found.extend(read_texts([path], "text"))
    assert found == LINES[: len(found)] != []


def test_a_file_that_another_replaces_is_read_to_its_end(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt")
    lines = read_texts([path], "text")
    found = [next(lines)]
    (tmp_path / "new").write_text("other\n")
    (tmp_path / "new").replace(path)
    assert [*found, *lines] == LINES
    path.unlink()


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.csv", "a.zst"])
def test_blocks_are_of_one_text(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    plan = plan_blocks([path], block_bytes=2000)
    reader = BlockReader(plan)
    assert [text for n in range(len(plan.blocks)) for text in reader.read(n)] == LINES
    reader = BlockReader(plan)
    reader.read(0)
    content = path.read_bytes()
    path.write_bytes(content[:10])
    with pytest.raises(DataError, match=rf"{name} changed while it was read \(from [\d,]+ bytes"):
        reader.read(2)
    path.unlink()
    with pytest.raises(DataError, match=rf"{name} changed while it was read .* to nothing"):
        reader.read(2)
    path.write_bytes(content)
    os.utime(path, ns=(0, plan.versions[0].changed + 10**9))  # type: ignore[union-attr, operator]
    with pytest.raises(DataError, match=rf"{name} changed while it was read \(same size\)"):
        reader.read(2)


def test_a_text_that_changes_between_two_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.txt")

    def described(path: Path) -> object:
        found = describe_text(path)
        with path.open("a") as file:
            file.write("more\n")
        return found

    monkeypatch.setattr("elmore.corpus.prepare.describe_text", described)
    with pytest.raises(DataError, match=r"a\.txt changed while it was read"):
        prepare([path], tmp_path / "corpus", CorpusConfig(tokenizer="whitespace"))
    assert [one.name for one in tmp_path.iterdir()] == ["a.txt"]


def test_a_change_is_named_as_the_cause_of_another_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt")

    def read(content: str) -> None:
        with unchanged(versions_of([path])):
            path.write_text(content)
            raise DataError("the text has no word")

    with pytest.raises(DataError, match=r"a\.txt changed while it was read"):
        read("")
    os.utime(path, ns=(0, 0))
    with pytest.raises(DataError, match=r"a\.txt changed while it was read"):
        read("")
    with pytest.raises(DataError, match="the text has no word"), unchanged(versions_of([path])):
        raise DataError("the text has no word")


def test_a_redirected_file_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.txt")
    monkeypatch.setattr(versions, "_BYTES_AT_ONCE", 64)
    with path.open(encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        lines = read_texts([Path("-")], "text")
        next(lines)
        with path.open("a") as more:
            more.write("x")
        with pytest.raises(DataError, match="standard input changed while it was read"):
            list(lines)


def test_a_pipe_gives_what_it_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as file:
        file.write("one\n")
    with os.fdopen(reading) as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert list(read_texts([Path("-")], "text")) == ["one"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"two\n")))
    assert list(read_texts([Path("-")], "text")) == ["two"]
    os.mkfifo(tmp_path / "pipe")
    assert version_of(tmp_path / "pipe") is None


def test_a_file_of_a_store() -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe_file("/changing/a.txt", "\n".join(LINES).encode())
    path = as_path("memory://changing/a.txt")
    plan = plan_blocks([path], block_bytes=2000)
    reader = BlockReader(plan)
    reader.read(0)
    with open_file(path) as file:
        file.read(10)
        store.pipe_file("/changing/a.txt", "\n".join(reversed(LINES)).encode())
        with pytest.raises(DataError, match=r"a\.txt changed while it was read"):
            file.read()
    with pytest.raises(DataError, match=r"a\.txt changed while it was read \(same size\)"):
        reader.read(1)


def test_versions_differ(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a")
    os.utime(path, ns=(0, 5))
    assert version_of(path) == Version(1, 5)
    os.utime(path, ns=(0, 4))  # a clock that was set back
    assert version_of(path) == Version(1, 4)
    assert all(a != b for a, b in pairwise([Version(1, 5), Version(1, 4), Version(2, 4), None]))


def test_what_is_loaded_is_what_was_verified(
    tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = read_pretrained(tiny_model)
    write_native(model, tmp_path / "model")
    path = tmp_path / "model/model.safetensors"

    def rewrite_and_parse(*arguments: Any, **options: Any) -> Any:
        change(path, "longer")  # whoever writes it, once its checksum was found right
        return parse_safetensors(*arguments, **options)

    monkeypatch.setattr("elmore.formats.native.parse_safetensors", rewrite_and_parse)
    assert read_pretrained(tmp_path / "model").fingerprint() == model.fingerprint()
    with pytest.raises(FormatError, match=r"model\.safetensors is damaged"):
        read_pretrained(tmp_path / "model")


def test_checked_files(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"one")
    files = {"a.bin": describe_file(path)}
    with checked_files(tmp_path, files):
        assert path.read_bytes() == b"one"
    with (
        pytest.raises(DataError, match=r"a\.bin changed while it was read"),
        checked_files(tmp_path, files, verify=False),
    ):
        change(path, "emptied")
    with pytest.raises(FormatError, match=r"a\.bin is damaged"), checked_files(tmp_path, files):
        pytest.fail("it was given")
