"""A damaged index is refused: by its sizes when it is loaded, by its blocks when they are read."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.checksums import FileRecord
from elmore.errors import ConfigError, DataError, FormatError
from elmore.senses.blocks import BLOCK_BYTES, CheckedRows, GrowingFile
from elmore.senses.build import build_index
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from elmore.senses.verify import verify_index

DATA = ["vectors-1.f16", "occurrences.i32", "sentences.txt", "sentences.i64", "words.txt"]


@pytest.fixture(scope="module")
def whole(tiny_elmo: Elmo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "index"
    lines = ["the bank of the river", "a bank"]
    build_index(tiny_elmo, lines, folder, IndexConfig((1,)), source=[{"name": "text"}])
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "index"))


def read_all(folder: Path) -> list[Any]:
    index = OccurrenceIndex.load(folder)
    rows = [(index.occurrence(row), index.vectors(1)[row].tobytes()) for row in range(len(index))]
    return [rows, index.rows("bank").tolist()]


def flip(path: Path, place: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def without_checksums(folder: Path) -> None:
    said = json.loads((folder / "index.json").read_text())
    del said["files"], said["checksum"]
    (folder / "index.json").write_text(json.dumps(said))
    (folder / "checksums.u64").unlink()


@pytest.mark.parametrize("name", [*DATA, "checksums.u64"])
def test_one_flipped_bit(folder: Path, name: str) -> None:
    flip(folder / name)
    with pytest.raises(FormatError, match=rf"{name} is damaged"):
        read_all(folder)
    problems = [one.name for one in verify_index(folder) if one.problem]
    assert problems == [name]


@pytest.mark.parametrize(("field", "value"), [("dim", 14), ("n_occurrences", 9)])
def test_index_json_has_a_checksum_of_its_own(folder: Path, field: str, value: int) -> None:
    said = json.loads((folder / "index.json").read_text())
    (said if field in said else said["facts"])[field] = value
    (folder / "index.json").write_text(json.dumps(said))
    with pytest.raises(FormatError, match="its checksum does not match its fields"):
        OccurrenceIndex.load(folder)


def test_an_index_of_an_earlier_version(folder: Path, whole: Path) -> None:
    without_checksums(folder)
    assert read_all(folder) == read_all(whole)
    assert {(one.has_checksum, one.problem) for one in verify_index(folder)} == {(False, None)}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("occurrences.i32", np.full(21, 99, "<i4"), "is of no word or sentence"),
        ("occurrences.i32", np.tile([0, 0, 77], 7).astype("<i4"), "is not in its sentence"),
        ("sentences.i64", np.array([-5, 2**40], "<i8"), "ends where it cannot"),
        ("vectors-1.f16", np.full(84, np.nan, "<f2"), "is damaged, in bytes 0 to 168"),
    ],
)
def test_numbers_that_cannot_be_without_checksums(
    folder: Path, name: str, content: np.ndarray, message: str
) -> None:
    without_checksums(folder)
    assert (folder / name).stat().st_size == content.nbytes
    (folder / name).write_bytes(content.tobytes())
    with pytest.raises(FormatError, match=message):
        read_all(folder)


def test_text_that_cannot_be_without_checksums(folder: Path) -> None:
    without_checksums(folder)
    for name in ("sentences.txt", "words.txt"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(b"\xff" * len(content))
        with pytest.raises(FormatError, match="is not UTF-8"):
            read_all(folder)
        (folder / name).write_bytes(content)
    (folder / "words.txt").write_bytes(b"\n" * (folder / "words.txt").stat().st_size)
    with pytest.raises(FormatError, match=r"words.txt is damaged: it has \d+ words"):
        read_all(folder)


@pytest.mark.parametrize("name", DATA)
def test_a_build_does_not_resume_from_damage(
    tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("elmore.senses.build._LINES_AT_ONCE", 2)

    def cut() -> Any:
        yield from ["the bank", "a river", "the river"]
        raise KeyboardInterrupt

    def build(lines: Any) -> None:
        build_index(tiny_elmo, lines, tmp_path / "index", IndexConfig((1,)), source=[{"name": ""}])

    with pytest.raises(KeyboardInterrupt):
        build(cut())
    (verified,) = verify_index(tmp_path / "index")
    assert "is not finished" in str(verified.problem)
    content = (tmp_path / "index" / name).read_bytes()
    flip(tmp_path / "index" / name)
    with pytest.raises(FormatError, match="its checksum does not match"):
        build([])
    (tmp_path / "index" / name).write_bytes(content[:-1])
    with pytest.raises(FormatError, match=rf"{name} is damaged: it has"):
        build([])


def test_what_is_refused_leaves_nothing(tiny_elmo: Elmo, tmp_path: Path) -> None:
    def bad() -> Any:
        raise DataError("the text cannot be read")
        yield ""

    for lines, config in ((bad(), IndexConfig((1,))), (["a"], IndexConfig((1,), words=("b",)))):
        with pytest.raises(DataError):
            build_index(tiny_elmo, lines, tmp_path / "index", config, source=[{"name": "text"}])
        assert list(tmp_path.iterdir()) == []


def test_a_model_is_not_downloaded_unasked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tiny_elmo: Elmo
) -> None:
    without_checksums(folder)
    said = json.loads((folder / "index.json").read_text())
    said["model"]["source"] = "hf://someone/model"
    (folder / "index.json").write_text(json.dumps(said))
    index = OccurrenceIndex.load(folder)
    asked: list[str] = []
    monkeypatch.setattr(
        Elmo, "from_pretrained", lambda source, **_: asked.append(source) or tiny_elmo
    )
    with pytest.raises(ConfigError, match=r"to allow that, name it \(--model hf://someone/model\)"):
        index.load_model()
    assert asked == []
    index.load_model("hf://someone/model")
    assert asked == ["hf://someone/model"]


def test_blocks(tmp_path: Path) -> None:
    """Only the blocks that are read are verified, each once."""
    rows = np.arange(3 * BLOCK_BYTES // 8 + 5, dtype="<i8").reshape(-1, 1)
    file = GrowingFile(tmp_path / "rows", 0, None)
    for part in (rows[:7], rows[7:60_000], rows[60_000:]):
        file.write(part.tobytes())
    file.file.close()
    checksums = file.checksums()
    assert len(checksums) == 4
    again = GrowingFile(tmp_path / "rows", file.size, file.record())
    again.file.close()
    np.testing.assert_array_equal(again.checksums(), checksums)
    with pytest.raises(FormatError, match="its checksum does not match"):
        GrowingFile(tmp_path / "rows", file.size, FileRecord(file.size, "0" * 32))
    flip(tmp_path / "rows", 2 * BLOCK_BYTES + 1)
    found = CheckedRows(tmp_path / "rows", "<i8", rows.shape, checksums)
    per_block = BLOCK_BYTES // 8
    np.testing.assert_array_equal(found[: 2 * per_block], rows[: 2 * per_block])
    np.testing.assert_array_equal(found[np.array([0, len(rows) - 1])], rows[[0, -1]])
    assert len(found[5:5]) == 0
    for damaged in (slice(None), 2 * per_block, np.array([1, 3 * per_block - 1])):
        with pytest.raises(FormatError, match="rows is damaged, in bytes 524,288 to 786,432"):
            found[damaged]
