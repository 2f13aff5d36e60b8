"""Vectors and indexes in the files of vector stores, as they were."""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed import CorpusOptions, embed_corpus
from elmore.errors import ConfigError, DataError, FormatError, MissingExtraError
from elmore.integrations import vector_stores
from elmore.integrations.vector_stores import export, open_stream
from elmore.scale import embed_parts, index_parts
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus

pa = pytest.importorskip("pyarrow", reason="needs the extra parquet")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_corpus(tmp_path_factory.mktemp("corpus"), 40)


@pytest.fixture(scope="module")
def parts(corpus: list[Path], tiny_elmo: Elmo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("parts") / "vectors"
    embed_parts(tiny_elmo, corpus, out, block_bytes=BLOCK_BYTES)
    return out


@pytest.fixture(scope="module")
def index(corpus: list[Path], tiny_elmo: Elmo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("index") / "index"
    index_parts(tiny_elmo, corpus, out, IndexConfig(layers=(0, "expected")))
    return out


def rows(path: Path) -> Any:
    return pytest.importorskip("pyarrow.dataset").dataset(str(path)).to_table()


def test_parquet_of_parts(parts: Path, tmp_path: Path) -> None:
    made = export(parts, f"{tmp_path}/all.parquet")
    assert made.n_rows > 500
    assert rows(tmp_path / "all.parquet").equals(rows(parts))
    export(parts, f"{tmp_path}/half.parquet", dtype="float16")
    half = rows(tmp_path / "half.parquet")
    assert half.schema.field("vector").type == pa.list_(pa.float16(), 12)
    assert half["token"].equals(rows(parts)["token"])


def test_a_file_of_someone_else_is_not_touched(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "all.parquet.part").write_text("mine")
    export(parts, f"{tmp_path}/all.parquet")
    assert (tmp_path / "all.parquet.part").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.parquet", "all.parquet.part"]


def test_memory_maps(parts: Path, tmp_path: Path) -> None:
    export(parts, f"{tmp_path}/maps/")
    whole = rows(parts)
    vectors = np.load(tmp_path / "maps/vectors.npy", mmap_mode="r")
    np.testing.assert_array_equal(vectors, np.array(whole["vector"].to_pylist(), np.float32))
    for name in ("text", "position"):
        np.testing.assert_array_equal(np.load(tmp_path / f"maps/{name}.npy"), whole[name])
    assert (tmp_path / "maps/tokens.txt").read_text().splitlines() == whole["token"].to_pylist()
    assert sorted(bytes_of(tmp_path / "maps")) == [
        "position.npy", "text.npy", "tokens.txt", "vectors.npy",
    ]  # fmt: skip


def test_an_index(index: Path, tmp_path: Path) -> None:
    export(index, f"{tmp_path}/a.parquet", layer="expected")
    found, given = rows(tmp_path / "a.parquet"), OccurrenceIndex.load(index)
    assert found.num_rows == len(given)
    np.testing.assert_array_equal(
        np.array(found["vector"].to_pylist(), np.float16), np.asarray(given.vectors("expected"))
    )
    for row in (0, 100, len(given) - 1):
        occurrence = given.occurrence(row)
        record = found.slice(row, 1).to_pylist()[0]
        assert (record["token"], record["position"]) == (occurrence.word, occurrence.place)
        assert record["sentence"] == " ".join(occurrence.tokens)


@pytest.mark.parametrize("most_exact", [200_000, 300])
def test_lancedb(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_exact: int
) -> None:
    lancedb = pytest.importorskip("lancedb", reason="needs elmore[lancedb]")
    monkeypatch.setattr(vector_stores, "MOST_EXACT", most_exact)
    export(index, f"{tmp_path}/db/words.lance", layer=0)
    assert [path.name for path in (tmp_path / "db").iterdir()] == ["words.lance"]
    table = lancedb.connect(tmp_path / "db").open_table("words")
    given = OccurrenceIndex.load(index)
    assert table.count_rows() == len(given)
    assert table.schema.field("vector").type == pa.list_(pa.float16(), 12)
    query = np.asarray(given.vectors(0))[given.rows("bank")[3]]
    found = table.search(query).distance_type("cosine").where("token = 'bank'").limit(5).to_list()
    assert [one["token"] for one in found] == ["bank"] * 5
    if most_exact > len(given):  # layer 0 has no context: all are the same
        assert found[0]["_distance"] == pytest.approx(0, abs=1e-3)


def test_a_file_of_embed(tiny_elmo: Elmo, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    options = CorpusOptions(layers="all")
    embed_corpus(tiny_elmo, ["the bank", "of"], path, options, lambda *_: None)
    with pytest.raises(ConfigError, match="has several layers; choose --layer: 0, 1, 2"):
        open_stream(path)
    with pytest.raises(ConfigError, match="has no layer 7; choose"):
        open_stream(path, layer=7)
    (batch,) = open_stream(path, layer=1).batches()
    expected = tiny_elmo.encode_tokens(["the bank", "of"], layers=1)
    found = np.array(batch["vector"].to_pylist(), np.float32)
    wanted = np.concatenate([one.vectors for one in expected])
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert open_stream(path, layer=1).reader().read_all().num_rows == 3
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"a\.parquet is damaged or truncated"):
        open_stream(path, layer=1)


def test_a_damaged_part(parts: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(parts, tmp_path / "parts")
    content = bytearray((copy / "part-00001.parquet").read_bytes())
    content[100] ^= 1
    (copy / "part-00001.parquet").write_bytes(content)
    with pytest.raises(FormatError, match=r"part-00001\.parquet is damaged: its checksum is"):
        export(copy, f"{tmp_path}/out/")
    assert not (tmp_path / "out").exists()


def test_refusals(parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FormatError, match="is no vectors; expected a folder of parts"):
        export(tmp_path, f"{tmp_path}/a.parquet")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"a": [1]}), tmp_path / "b.parquet")
    with pytest.raises(FormatError, match="has not the columns that elmore embed writes"):
        export(tmp_path / "b.parquet", f"{tmp_path}/a.parquet")
    with pytest.raises(ConfigError, match="exists already"):
        export(parts, f"{tmp_path}/b.parquet")
    with pytest.raises(ConfigError, match=r"does not end in \.parquet, in \.lance"):
        export(parts, f"{tmp_path}/a.txt")
    if find_spec("lancedb"):
        with pytest.raises(ConfigError, match=r"은행\.lance is no name of a table of LanceDB"):
            export(parts, f"{tmp_path}/은행.lance")
    monkeypatch.setitem(__import__("sys").modules, "lancedb", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'elmore\[lancedb\]'"):
        export(parts, f"{tmp_path}/a.lance")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.parquet"]


def test_without_arrow_an_index_is_not_exported(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"exporting vectors needs .*elmore\[parquet\]"):
        export(index, f"{tmp_path}/arrays/", layer=0)
    assert not list(tmp_path.iterdir())


def test_names_with_a_colon(
    tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    embed_corpus(tiny_elmo, ["the bank"], Path("v-12:30.parquet"), CorpusOptions(), print)
    export("v-12:30.parquet", "w-12:30.parquet")
    assert open_stream("w-12:30.parquet").n_rows == 2


@pytest.mark.parametrize("out", ["s3://bucket/x.parquet", "memory://maps/"])
def test_a_url_is_refused(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ConfigError, match="is a URL; export to a local disk"):
        export(parts, out)
    assert sorted(tmp_path.rglob("*")) == before
