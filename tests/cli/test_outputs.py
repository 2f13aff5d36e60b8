"""Every format that --out names holds the same tokens and vectors, to the bit."""

import json
import re
import tracemalloc
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

from elmore import Elmo
from elmore.embed import TokenVectors
from elmore.embed.writers import NpzWriter

from .conftest import Refused, Run

LINES = "The cat didn't sit.\n\n한국어 문장 😀 e\u0301 .\na\x00b שלום\nThe cat didn't sit.\n"
TEXTS = LINES.splitlines()
SUFFIXES = (".jsonl", ".npz", ".h5", ".hdf5", ".parquet")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_bytes(LINES.encode())
    return path


def same(found: Any, expected: np.ndarray) -> None:
    assert np.asarray(found).dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def check_jsonl(path: Path, texts: Sequence[TokenVectors]) -> None:
    for number, (line, text) in enumerate(
        zip(path.read_text("utf-8").splitlines(), texts, strict=True)
    ):
        record = json.loads(line)
        vectors = np.array(record.pop("vectors"), text.vectors.dtype).reshape(text.vectors.shape)
        np.testing.assert_array_equal(vectors, text.vectors)  # to the bit
        assert record == {"text": number, "tokens": list(text.tokens)}
        assert not re.search(r"\.0*[1-9]\d{9}", line)  # no more digits than a float32 has


def check_npz(path: Path, texts: Sequence[TokenVectors]) -> None:
    with np.load(path, allow_pickle=False) as archive:
        assert len(archive.files) == 2 * len(texts)
        for number, text in enumerate(texts):
            same(archive[f"{number}"], text.vectors)
            assert archive[f"{number}.tokens"].tolist() == list(text.tokens)


def check_hdf5(path: Path, texts: Sequence[TokenVectors]) -> None:
    with h5py.File(path) as file:
        assert set(file) == {*map(str, range(len(texts))), "sentence_to_index"}
        for number, text in enumerate(texts):
            same(file[str(number)][...], text.vectors)
        index = file["sentence_to_index"]
        assert index.shape == (1,)
        assert json.loads(index[0]) == {
            " ".join(text.tokens): str(number) for number, text in enumerate(texts)
        }


def check_parquet(path: Path, texts: Sequence[TokenVectors]) -> None:
    table = pq.read_table(path)
    places = [(n, t) for n, text in enumerate(texts) for t in range(len(text.tokens))]
    assert list(zip(*(table[c].to_pylist() for c in ("text", "position")), strict=True)) == places
    assert table["token"].to_pylist() == [token for text in texts for token in text.tokens]
    several = texts[0].vectors.ndim == 3
    columns = [f"layer_{j}" for j in range(len(texts[0].vectors))] if several else ["vector"]
    assert table.column_names == ["text", "position", "token", *columns]
    rows = np.concatenate([text.vectors for text in texts], axis=-2)
    for name, expected in zip(columns, rows if several else [rows], strict=True):
        numbers = table[name].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        same(numbers.reshape(expected.shape), expected)


CHECKS = {
    ".jsonl": check_jsonl,
    ".npz": check_npz,
    ".h5": check_hdf5,
    ".hdf5": check_hdf5,
    ".parquet": check_parquet,
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("layers", ["mix", "all", "1"])
def test_read_back(
    *, elmore: Run, tiny_model: Path, corpus: Path, suffix: str, dtype: str, layers: str
) -> None:
    out = corpus.with_name(f"out{suffix}")
    flags = ["--layers", layers, "--dtype", dtype, "--tokenizer", "whitespace"]
    result = elmore("embed", corpus, "-m", tiny_model, "-o", out, *flags)
    assert (result.code, result.out, result.err) == (0, "", "")
    assert sorted(path.name for path in corpus.parent.iterdir()) == ["corpus.txt", out.name]
    which: Any = int(layers) if layers.isdigit() else layers
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    CHECKS[suffix](out, elmo.encode_tokens(TEXTS, layers=which, dtype=dtype))  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_same_run_gives_the_same_bytes(
    elmore: Run, tiny_model: Path, corpus: Path, suffix: str
) -> None:
    outs = [corpus.with_name(f"{name}{suffix}") for name in ("first", "second")]
    for out in outs:
        assert elmore("embed", corpus, "-m", tiny_model, "-o", out).code == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_an_old_file_is_replaced_only_if_asked(
    elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("old")
    arguments = ("embed", "new", "-m", tiny_model, "--out", out)
    assert "out.jsonl exists already; add --overwrite" in refused(*arguments)
    (tmp_path / "out.jsonl.blocks").mkdir()  # of another, or what a kill left of a finished run
    assert "out.jsonl exists already; add --overwrite" in refused(*arguments)
    assert out.read_text() == "old"
    assert elmore(*arguments, "--overwrite").code == 0
    assert [json.loads(line)["tokens"] for line in out.read_text().splitlines()] == [["new"]]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_texts_make_a_file_of_none(
    elmore: Run, tiny_model: Path, tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "empty.txt").touch()
    out = tmp_path / f"out{suffix}"
    assert elmore("embed", tmp_path / "empty.txt", "-m", tiny_model, "-o", out).code == 0
    if suffix == ".parquet":
        assert pq.read_table(out).num_rows == 0
    else:
        CHECKS[suffix](out, [])


def test_an_npz_file_is_as_zipfile_writes_it(tiny_elmo: Elmo, tmp_path: Path) -> None:
    texts = tiny_elmo.encode_tokens([["a", "bank"], [], ["은행"]])
    writer = NpzWriter(tmp_path / "out.npz")
    with zipfile.ZipFile(tmp_path / "expected.npz", "w") as archive:
        for number, text in enumerate(texts):
            writer.write(number, text)
            tokens = np.array(text.tokens, dtype=str)
            for name, array in ((f"{number}", text.vectors), (f"{number}.tokens", tokens)):
                entry = zipfile.ZipInfo(f"{name}.npy")
                with archive.open(entry, "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
    writer.close()
    assert (tmp_path / "out.npz").read_bytes() == (tmp_path / "expected.npz").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_memory_of_an_npz_file_does_not_grow_with_its_texts(tmp_path: Path) -> None:
    text = TokenVectors(("a",), np.ones((1, 2), np.float32), None)
    writer = NpzWriter(tmp_path / "out.npz")
    for number in range(100):
        writer.write(number, text)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(100, 1100):
        writer.write(number, text)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    writer.close()
    assert grown < 100_000  # bytes; zipfile's own directory takes 0.8 kB a text
    with np.load(tmp_path / "out.npz") as archive:
        assert len(archive.files) == 2200
