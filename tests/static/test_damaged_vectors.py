"""Damaged static vectors are refused in one sentence, and no header is believed."""

import json
import pickle
import re
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from elmore import StaticVectors
from elmore.errors import DataError, ElmoreError, FormatError
from elmore.metadata import checksum_of
from elmore.static.vectors import verify_static

VECTORS = StaticVectors(["a", "은행", "c"], np.arange(12, dtype=np.float32).reshape(3, 4))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    VECTORS.save(tmp_path / "static")
    return tmp_path / "static"


def without_checksums(folder: Path) -> None:
    said = json.loads((folder / "config.json").read_text())
    del said["files"], said["checksum"]
    (folder / "config.json").write_text(json.dumps(said))


@pytest.mark.parametrize("name", ["vocab.txt", "vectors.npy"])
def test_one_flipped_bit(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[-2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(FormatError, match=rf"{name} is damaged: its checksum is"):
        StaticVectors.load(folder)
    assert [one.name for one in verify_static(folder) if one.problem] == [name]
    StaticVectors.load(folder, verify=False)


def test_a_folder_of_an_earlier_version(folder: Path) -> None:
    without_checksums(folder)
    assert StaticVectors.load(folder).fingerprint() == VECTORS.fingerprint()
    assert {(one.has_checksum, one.problem) for one in verify_static(folder)} == {(False, None)}


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), ",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, -4)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3, 4)}",
        "{'descr': 3, 'fortran_order': 7}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 5L)}",
        "'''",
        "(" * 500,
        "1" * 5000,
        "",
    ],
)
def test_npy_headers_that_are_not_one(folder: Path, header: str) -> None:
    without_checksums(folder)
    content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + b"\0" * 48
    (folder / "vectors.npy").write_bytes(content)
    with pytest.raises(FormatError, match=r"vectors.npy cannot be read \(|expected \(3, 4\)"):
        StaticVectors.load(folder)


def test_nothing_is_unpickled(folder: Path) -> None:
    without_checksums(folder)
    (folder / "vectors.npy").write_bytes(pickle.dumps(print))
    with pytest.raises(FormatError, match="cannot be read"):
        StaticVectors.load(folder)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", ".."])
def test_names_that_lead_out_of_the_folder(folder: Path, name: str) -> None:
    said = json.loads((folder / "config.json").read_text())
    said["files"][name] = {"size": 1, "xxh3": "0" * 32}
    said["checksum"] = checksum_of(said)
    (folder / "config.json").write_text(json.dumps(said))
    with pytest.raises(FormatError, match="expected names of files beside it"):
        StaticVectors.load(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"9999999999 1000\nword \0\0", "ends in word 1"),
        (b"10 1099511627776\nword \0\0", "a header with 1099511627776 dimensions"),
        (b"10 0\nword \0\0", "a header with 0 dimensions"),
        (b"1 4\n\0" + b"x" * 70_000, "word 1, is longer than 65536 bytes"),
        (b"9999999999999999 3\na 1 2 3\n", "9999999999999999 words and has 1"),
        (b"9" * 5000 + b" 3\na 1 2 3\n", "expected"),
        (b"3 " + b"9" * 5000 + b"\na 1 2 3\n", "expected"),
        (b"a " + b"9" * 5000 + b" 2\n", "expected a number"),
        (b"a 1 2\nb 1 1e400\n", "has '1e400'; expected a number"),
        (b"a 1 2\nb 1 0x10\n", "has '0x10'"),
        (b"a " + b"1 " * 70_000 + b"\n", "70,000 values in a line"),
        (b"a" * 5_000_000, "in line 1"),
    ],
)
def test_headers_and_numbers_that_cannot_be(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors.bin"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ElmoreError, match=message) as caught:
            StaticVectors.load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(caught.value, FormatError | DataError)
    assert len(str(caught.value)) < 1000
    assert not re.search("\n", str(caught.value))
    assert peak < 100e6
