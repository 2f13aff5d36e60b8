"""The strict reader: what a description does not say is one sentence, naming file and field."""

import os
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, Literal

import msgspec
import pytest

from elmore.checks import at_least
from elmore.checksums import FileRecord, check_file, checksum, checksum_bytes, describe_file
from elmore.errors import FormatError
from elmore.folders import write_json
from elmore.metadata import MAX_DEPTH, read_limited, read_metadata


@dataclass(frozen=True)
class Part:
    n_layers: int
    clip: float | int | None = 3.0

    def __post_init__(self) -> None:
        at_least(1, n_layers=self.n_layers)


class Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    format: Literal["thing-1"]
    part: Part
    size: Annotated[int, msgspec.Meta(ge=1, le=100)]
    pairs: tuple[tuple[int, str], ...] = ()
    mode: Literal["a", "b"] = "a"
    files: dict[str, FileRecord] | None = None
    free: dict[str, Any] | None = None


WHOLE = '{"format": "thing-1", "part": {"n_layers": 2, "clip": 3}, "size": 5%s}'


def test_what_is_described_is_read_and_written_alike(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    path.write_text(WHOLE % ', "pairs": [[1, "x"]]')
    found = read_metadata(path, Described)
    assert found == Described("thing-1", Part(2, 3), 5, ((1, "x"),))
    assert isinstance(found.part.clip, int)
    write_json(path, found)
    assert read_metadata(path, Described) == found


def test_what_is_no_number_is_written_as_null(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    write_json(path, Described("thing-1", Part(1), 1, free={"loss": float("nan")}))
    assert read_metadata(path, Described).free == {"loss": None}


LONG = "x" * 5000
BAD = {
    "": r"is not JSON \(Input data was truncated\)",
    "[]": r"holds \[\]; expected an object",
    "\ufeff{}": "is not JSON",
    WHOLE % ', "size": 6': "is not JSON \\('size' is there twice\\)",
    WHOLE % ', "free": {"x": NaN}': "is not JSON",
    WHOLE % ', "free": {"x": 1e999}': "is not JSON",
    WHOLE % (', "free": {"x": ' + "1" * 5000 + "}"): "is not JSON",
    WHOLE % ', "free": {"x": "\\ud800"}': "is not JSON",
    WHOLE % (', "free": {"x": ' + "[" * 100_000): "nested more than 64 levels",
    WHOLE % (f', "free": {{"x": {"[" * MAX_DEPTH}{"]" * MAX_DEPTH}}}'): "more than 64 levels",
    (WHOLE % "").replace("thing-1", "thing-2"): "format is 'thing-2'; this version reads 'thing-1'",
    (WHOLE % "").replace('"format": "thing-1", ', ""): "format is null; this version reads",
    WHOLE.replace("5", "0") % "": "size is 0; expected a whole number, at least 1, at most 100",
    WHOLE.replace("5", "true") % "": "size is true; expected a whole number",
    WHOLE.replace("5", "1" * 300) % "": r"size is 1+\.\.\.1+; expected a whole number",
    WHOLE.replace("5", "5.0") % "": r"size is 5\.0; expected a whole number",
    WHOLE % ', "mode": "c"': "mode is 'c'; expected one of a, b",
    WHOLE % ', "mode": []': r"mode is \[\]; expected one of a, b",
    WHOLE % ', "pairs": [[1]]': r"pairs\[0\] is \[1\]; expected a list of 2",
    WHOLE % ', "pairs": [[1, 2]]': r"pairs\[0\]\[1\] is 2; expected a string",
    WHOLE % ', "extra": 1': "has the unknown field extra; correct",
    WHOLE % ', "sizes": 1': r"has the unknown field sizes \(did you mean size\?\); correct",
    WHOLE % f', "{LONG}": 1': "has the unknown field x{100}…; correct",
    WHOLE % ', "a\\nb": 1': r"has the unknown field 'a\\nb'; correct",
    WHOLE % f', "files": {{"{LONG}": 5}}': "files.x{94}… is 5; expected an object",
    WHOLE % ', "files": {"a": {"size": -1, "xxh3": ""}}': r"files\.a\.size is -1; expected",
    WHOLE % ', "files": {"a": {"size": 1, "xxh3": "x"}}': r"files\.a\.xxh3 is 'x'; expected",
    WHOLE % ', "files": {"a": 5}': r"files\.a is 5; expected an object",
    '{"format": "thing-1", "size": 5}': "lacks part",
    WHOLE.replace('"n_layers": 2, ', "") % "": r"lacks part\.n_layers",
    WHOLE.replace('"clip"', '"clap"') % "": r"lacks part\.clip",
    WHOLE.replace('"clip": 3', '"clip": 3, "x": 1') % "": r"has the unknown field part\.x; correct",
    WHOLE.replace('"clip": 3', '"clip": 3, "layers": 1') % "":
        r"has the unknown field part\.layers \(did you mean n_layers\?\)",
    WHOLE.replace('"clip": 3', '"clip": "3"') % "": r"part\.clip is '3'; expected a number or null",
    WHOLE.replace('"n_layers": 2', '"n_layers": 0') % "": "n_layers is 0; expected a whole number",
}  # fmt: skip


@pytest.mark.parametrize("content", BAD, ids=lambda content: content[:80])
def test_each_fault_is_a_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "thing.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FormatError, match=BAD[content]) as caught:
        read_metadata(path, Described)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < len(str(path)) + 250
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_and_files_that_are_too_large(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    path.write_bytes(b'{"format": "\xff"}')
    with pytest.raises(FormatError, match="byte 12 is not UTF-8"):
        read_metadata(path, Described)
    with pytest.raises(FormatError, match="is larger than 10 bytes"):
        read_metadata(path, Described, max_bytes=10)


def test_a_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    pipe = tmp_path / "vocab.txt"
    os.mkfifo(pipe)
    words = "".join(f"{number}\n" for number in range(30_000)).encode()
    writer = Thread(target=pipe.write_bytes, args=(words,))
    writer.start()
    assert read_limited(pipe, 2**20) == words
    writer.join()
    writer = Thread(target=pipe.write_bytes, args=(words,))
    writer.start()
    with pytest.raises(FormatError, match="is larger than 100,000 bytes"):
        read_limited(pipe, 100_000)
    writer.join()


def test_a_file_that_grows_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"[1, ")
    opened = Path.open

    def open_and_grow(self: Path, mode: str) -> Any:
        with opened(path, "ab") as file:
            file.write(b"2]")
        return opened(self, mode)

    monkeypatch.setattr(Path, "open", open_and_grow)
    assert read_limited(path, 100) == b"[1, 2]"


def test_a_checksum_finds_each_flipped_bit(tmp_path: Path) -> None:
    path = tmp_path / "data"
    content = bytes(range(256)) * 8
    path.write_bytes(content)
    record = describe_file(path)
    check_file(path, record)
    assert checksum(path) == checksum_bytes(content) == record.xxh3
    for place in range(0, len(content), 97):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            with pytest.raises(FormatError, match=r"data is damaged: its checksum is .* again"):
                check_file(path, record)
    path.write_bytes(content[:-1])
    with pytest.raises(FormatError, match="it has 2,047 bytes, expected 2,048"):
        check_file(path, record)
    path.unlink()
    with pytest.raises(FormatError, match="is missing"):
        check_file(path, record)


class Checked(msgspec.Struct, frozen=True):
    words: list[str]
    share: float
    checksum: str | None = None


class AlwaysChecked(msgspec.Struct, frozen=True):
    words: list[str]
    checksum: str = ""


def test_a_file_with_a_checksum_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    write_json(path, Checked(["은행", "a"], 0.1))
    assert read_metadata(path, Checked).words == ["은행", "a"]
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("0.1", "0.7"), encoding="utf-8")
    with pytest.raises(FormatError, match=r"facts.json is damaged: its checksum does not match"):
        read_metadata(path, Checked)
    path.write_text('{"words": [], "share": 1.0}')  # of a version that had none
    assert read_metadata(path, Checked).checksum is None
    write_json(path, AlwaysChecked(["a"]))
    assert read_metadata(path, AlwaysChecked).words == ["a"]
    path.write_text('{"words": ["a"]}')
    with pytest.raises(FormatError, match=r"facts.json is damaged: its checksum is missing"):
        read_metadata(path, AlwaysChecked)
