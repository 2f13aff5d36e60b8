"""The blocks of a corpus, put together, are the corpus, however it is cut and in any order."""

import bz2
import gzip
import json
import lzma
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmore.corpus.blocks import BlockReader, plan_blocks, text_checksum
from elmore.corpus.files import read_fields
from elmore.errors import DataError
from elmore.stores import as_path, as_paths

LINES = [
    "\ufeffthe bank",
    "",
    "강가의 은행에서 돈을",
    "a\rb",
    "x" * 70,
    " ",
    *["a b c"] * 20,
    "end",
]
TEXT = "\n".join(LINES).encode()


def all_texts(path: Path, block_bytes: int, *, shuffled: bool = False) -> list[str]:
    plan = plan_blocks([path], block_bytes=block_bytes)
    reader, numbers = BlockReader(plan), list(range(len(plan.blocks)))
    if shuffled:
        random.Random(block_bytes).shuffle(numbers)
    found = {number: reader.read(number) for number in numbers}
    return [text for number in sorted(found) for text in found[number]]


def compressed(path: Path, content: bytes) -> Path:
    zstandard = pytest.importorskip("zstandard")
    write = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": zstandard.ZstdCompressor().compress,
    }
    path.write_bytes(write[path.suffix](content))
    return path


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("block_bytes", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("suffix", [".txt", ".gz", ".bz2", ".xz", ".zst"])
def test_all_lines_once(tmp_path: Path, suffix: str, block_bytes: int, shuffled: bool) -> None:
    path = tmp_path / f"text{suffix}"
    if suffix == ".txt":
        path.write_bytes(TEXT)
    else:
        compressed(path, TEXT)
    expected = [text for (text,) in read_fields(path, ["text"])]
    assert all_texts(path, block_bytes, shuffled=shuffled) == expected
    (file,) = plan_blocks([path], block_bytes=block_bytes).files
    assert file.unit == ("bytes" if suffix == ".txt" else "stream")
    assert file.size == path.stat().st_size


@given(st.text(alphabet="a\n\r", max_size=40), st.integers(1, 50))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str, block_bytes: int) -> None:
    path = tmp_path_factory.mktemp("any") / "text.txt"
    path.write_bytes(text.encode())
    assert all_texts(path, block_bytes) == [one for (one,) in read_fields(path, ["text"])]


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("frame_bytes", [3, 10, 64])
def test_frames_of_zstandard_are_cut_by_seeking(
    tmp_path: Path, frame_bytes: int, checksum: bool
) -> None:
    zstandard = pytest.importorskip("zstandard")
    compressor = zstandard.ZstdCompressor(write_checksum=checksum)
    seek_table = (0x184D2A5E).to_bytes(4, "little") + (5).to_bytes(4, "little") + b"table"
    frames = [
        compressor.compress(TEXT[start : start + frame_bytes])
        for start in range(0, len(TEXT), frame_bytes)
    ]
    path = tmp_path / "text.zst"
    path.write_bytes(b"".join(frames) + seek_table)
    plan = plan_blocks([path], block_bytes=32)
    assert plan.files[0].unit == "frames"
    assert len(plan.blocks) > 3
    expected = [text for (text,) in read_fields(path, ["text"])]
    for block_bytes in (4, 32, 10_000):
        assert all_texts(path, block_bytes, shuffled=True) == expected
    path.write_bytes(b"".join(frames)[:-1])
    with pytest.raises(DataError, match="is damaged or truncated"):
        plan_blocks([path])


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.tsv", "a.parquet"])
def test_records(tmp_path: Path, name: str) -> None:
    texts = ["the bank", "두 번째", "third", "a, b", "last"]
    path = tmp_path / name
    if name.endswith("parquet"):
        pa = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pa.table({"text": texts}), path)
    elif "jsonl" in name:
        content = "".join(json.dumps({"text": text}) + "\n\n" for text in texts).encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    else:
        mark = "\t" if name.endswith("tsv") else ","
        quote = "" if name.endswith("tsv") else '"'
        rows = [f"{n}{mark}{quote}{text}{quote}\n" for n, text in enumerate(texts)]
        path.write_text(f"n{mark}text\n" + "".join(rows))
    for block_bytes in (1, 20, 1000):
        assert all_texts(path, block_bytes, shuffled=True) == texts
    assert len(plan_blocks([path], block_bytes=1).blocks) >= len(texts)


def test_cuts_do_not_depend_on_other_files(tmp_path: Path) -> None:
    for name, content in (("a.txt", TEXT), ("b.txt", b""), ("c.txt", b"one\ntwo")):
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt")]
    plan = plan_blocks(paths, block_bytes=100)
    alone = plan_blocks(paths[:1], block_bytes=100).blocks
    assert plan.blocks[: len(alone)] == alone
    reader = BlockReader(plan)
    assert [reader.read(n) for n in range(len(alone), len(plan.blocks))] == [[], ["one", "two"]]


def test_what_cannot_be_cut(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no text"):
        plan_blocks([])
    with pytest.raises(DataError, match="standard input cannot be cut"):
        plan_blocks([Path("-")])
    with pytest.raises(DataError, match="does not exist"):
        plan_blocks([tmp_path / "none.txt"])
    compressed(tmp_path / "a.gz", TEXT)
    (tmp_path / "a.gz").write_bytes((tmp_path / "a.gz").read_bytes()[:-9])
    with pytest.raises(DataError, match=r"a\.gz is damaged or truncated"):
        plan_blocks([tmp_path / "a.gz"])
    (tmp_path / "a.txt").write_bytes(b"one\n\xff\n")
    with pytest.raises(DataError, match=r"a\.txt is not UTF-8: line 2"):
        BlockReader(plan_blocks([tmp_path / "a.txt"])).read(0)
    with pytest.raises(DataError, match=r"a\.txt, bytes 3 to 6, is not UTF-8: line 1"):
        BlockReader(plan_blocks([tmp_path / "a.txt"], block_bytes=3)).read(1)


def test_a_checksum_tells_texts_apart() -> None:
    lists = [[], [""], ["", ""], ["a\nb"], ["a", "b"], ["ab"], ["a", "b\n"], ["a\n", "b"]]
    assert len({text_checksum(texts) for texts in lists}) == len(lists)


def test_addresses_of_any_store() -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    for name, content in (("b.txt", b"two\nlines"), ("a.txt.gz", gzip.compress(TEXT))):
        store.pipe_file(f"/corpus/{name}", content)
    paths = as_paths(["memory://corpus/*"])
    assert [path.name for path in paths] == ["a.txt.gz", "b.txt"]
    plan = plan_blocks(paths, block_bytes=50)
    reader = BlockReader(plan)
    found = [text for n in range(len(plan.blocks)) for text in reader.read(n)]
    assert found == [LINES[0][1:], *LINES[1:], "two", "lines"]
    with pytest.raises(DataError, match="no file matches memory://corpus/x\\*"):
        as_paths(["memory://corpus/x*"])
    with pytest.raises(DataError, match=r"memory://corpus/c.txt does not exist"):
        plan_blocks([as_path("memory://corpus/c.txt")])
    assert as_path("file:///tmp/a") == Path("/tmp/a")
