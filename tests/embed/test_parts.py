"""A folder of parts holds the vectors of a corpus, however its blocks were embedded."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.corpus.files import read_fields
from elmore.corpus.parts import MANIFEST, PartsFolder, read_parts, verify_parts
from elmore.embed import CorpusOptions
from elmore.embed.parts import TEXTS_PER_PART, EmbedJob, embed_block
from elmore.embed.vector_parts import VectorParts
from elmore.errors import ConfigError, DataError, FormatError
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    return write_corpus(tmp_path)


def begin(elmo: Elmo, corpus: list[Path], out: Any, **options: Any) -> EmbedJob:
    wanted = CorpusOptions(**{"block_numbers": 40 * 12, **options})
    return EmbedJob.begin(elmo, corpus, out, wanted, block_bytes=BLOCK_BYTES)


def embed(elmo: Elmo, corpus: list[Path], out: Any, **options: Any) -> VectorParts:
    job = begin(elmo, corpus, out, **options)
    for number in range(job.n_blocks):
        job.run(number)
    job.finish()
    return VectorParts.load(out)


@pytest.mark.parametrize("layers", ["mix", "all", "expected"])
def test_all_vectors_are_there(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path, layers: Any
) -> None:
    found = embed(tiny_elmo, corpus, tmp_path / "out", layers=layers)
    lines = [line for path in corpus for (line,) in read_fields(path, ["text"])]
    expected = tiny_elmo.encode_tokens(lines, layers=layers)
    assert (found.n_texts, found.n_tokens) == (120, sum(len(one.tokens) for one in expected))
    texts = list(found)
    filled = [one for one in expected if one.tokens]
    assert [one.tokens for one in texts] == [one.tokens for one in filled]
    for one, wanted in zip(texts, filled, strict=True):
        assert one.vectors.shape == wanted.vectors.shape
        np.testing.assert_array_equal(one.vectors, wanted.vectors)


def test_parts_without_words(tiny_elmo: Elmo, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\x01\x01\x01\n")
    english = Elmo(tiny_elmo.model, tokenizer="english")
    assert list(embed(english, [tmp_path / "empty.txt"], tmp_path / "out")) == []


def test_other_programs_read_the_folder_as_one(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path
) -> None:
    import pyarrow.dataset
    import pyarrow.parquet

    duckdb = pytest.importorskip("duckdb")
    found = embed(tiny_elmo, corpus, tmp_path / "out", dtype="float16")
    whole = pyarrow.dataset.dataset(tmp_path / "out").to_table()
    assert whole.num_rows == found.n_tokens
    assert pyarrow.parquet.read_table(tmp_path / "out").num_rows == found.n_tokens
    query = f"select count(*), count(distinct text) from '{tmp_path}/out/*.parquet'"
    assert duckdb.sql(query).fetchall() == [(found.n_tokens, len(list(found)))]
    text = whole["text"].to_numpy()
    assert (np.diff(text) >= 0).all()
    assert set(text // TEXTS_PER_PART) == set(range(len(found.manifest.blocks)))


def test_any_order_of_blocks_and_any_copy_of_the_job(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path
) -> None:
    embed(tiny_elmo, corpus, tmp_path / "one")
    for number in reversed(range(begin(tiny_elmo, corpus, tmp_path / "two").n_blocks)):
        job = pickle.loads(pickle.dumps(begin(tiny_elmo, corpus, tmp_path / "two")))
        record = embed_block(job, number)
        assert embed_block(job, number) == record
    with pytest.raises(FormatError, match="is not finished"):
        VectorParts.load(tmp_path / "two")
    job.finish()
    assert bytes_of(tmp_path / "two") == bytes_of(tmp_path / "one")


def test_a_worker_in_another_folder(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job = begin(tiny_elmo, [Path(path.name) for path in corpus], "out")
    pickled = pickle.dumps(job)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    record = embed_block(pickle.loads(pickled), 1)
    assert [path.name for path in (tmp_path / "out").glob("part-*")] == list(record.files)
    assert not any((tmp_path / "elsewhere").iterdir())


def test_finished_parts_are_not_made_again(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed(tiny_elmo, corpus, tmp_path / "one")
    job = begin(tiny_elmo, corpus, tmp_path / "two")
    for number in (1, 3):
        job.run(number)
    (tmp_path / "two/_parts/work-of-a-killed-worker").mkdir()
    entered: list[int] = []
    enter = PartsFolder.enter

    def count(self: PartsFolder, number: int, *given: Any, **options: Any) -> Any:
        entered.append(number)
        return enter(self, number, *given, **options)

    monkeypatch.setattr(PartsFolder, "enter", count)
    embed(tiny_elmo, corpus, tmp_path / "two")
    assert entered == [number for number in range(job.n_blocks) if number not in (1, 3)]
    assert bytes_of(tmp_path / "two") == bytes_of(tmp_path / "one")
    entered.clear()
    (tmp_path / "two/part-00002.parquet").unlink()
    embed(tiny_elmo, corpus, tmp_path / "two")
    assert entered == [2]
    assert bytes_of(tmp_path / "two") == bytes_of(tmp_path / "one")


def test_damage(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    embed(tiny_elmo, corpus, tmp_path / "out")
    assert not any(file.problem for file in verify_parts(tmp_path / "out"))
    path = tmp_path / "out/part-00002.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"part-00002.parquet is damaged: its checksum is"):
        embed(tiny_elmo, corpus, tmp_path / "out")
    assert path.read_bytes() == content
    problems = {file.name: file.problem for file in verify_parts(tmp_path / "out")}
    assert [name for name, problem in problems.items() if problem] == [path.name]
    said = json.loads((tmp_path / "out" / MANIFEST).read_text())
    said["parts"][0]["counts"]["n_tokens"] = 0
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(said))
    with pytest.raises(FormatError, match="its checksum does not match its fields"):
        VectorParts.load(tmp_path / "out")


def test_another_model_option_or_text(
    tiny_elmo: Elmo, tiny_model: Path, corpus: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    begin(tiny_elmo, corpus, out).run(0)
    before = bytes_of(out / "_parts")
    with pytest.raises(ConfigError, match=r"another model or other options \(layers changed\)"):
        begin(tiny_elmo, corpus, out, layers="top")
    other = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    other.bilm.token_encoder.char_cnn.embedding.weight.data += 1
    other = other.with_bilm(other.bilm)
    with pytest.raises(ConfigError, match=r"other options \(model changed\)"):
        begin(other, corpus, out)
    with pytest.raises(ConfigError, match="begun with other text or another block size"):
        begin(tiny_elmo, corpus[:1], out)
    job = begin(tiny_elmo, corpus, out)
    job.elmo = other
    with pytest.raises(ConfigError, match="this worker has another model"):
        job.run(1)
    text = corpus[0].read_bytes()
    corpus[0].write_bytes(text.replace(b"b", b"B"))
    with pytest.raises(DataError, match="was begun with other text: block 0 has changed"):
        begin(tiny_elmo, corpus, out).run(0)
    assert bytes_of(out / "_parts") == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"is not empty, and _manifest\.json is not in it"):
        begin(tiny_elmo, corpus, tmp_path / "mine")


def test_a_folder_lacks_parts(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    job = begin(tiny_elmo, corpus, tmp_path / "out")
    job.run(0)
    with pytest.raises(DataError, match=f"lacks {job.n_blocks - 1} parts"):
        job.finish()


def test_a_part_that_something_removes(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    job = begin(tiny_elmo, corpus, tmp_path / "out")
    for number in range(job.n_blocks):
        job.run(number)
    (tmp_path / "out/part-00001.parquet").unlink()
    with pytest.raises(DataError, match=r"lacks part-00001\.parquet, which was finished: some"):
        job.finish()
    assert read_parts(tmp_path / "out").parts is None  # type: ignore[union-attr]
    job.run(1)
    job.finish()
    assert all(one.problem is None for one in verify_parts(tmp_path / "out"))


def test_in_the_memory_of_this_process(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    import fsspec

    embed(tiny_elmo, corpus, tmp_path / "local")
    store = fsspec.filesystem("memory")
    texts: list[Any] = []
    for path in corpus:
        store.put_file(str(path), f"/texts/{path.name}")
        texts.append(f"memory://texts/{path.name}")
    job = begin(tiny_elmo, texts, "memory://out")
    job.run(1)
    found = embed(tiny_elmo, texts, "memory://out/")
    written = {path.rpartition("/")[2]: store.cat_file(path) for path in store.find("/out")}
    assert written == bytes_of(tmp_path / "local")
    assert len(list(found)) == len(list(VectorParts.load(tmp_path / "local")))


def test_damaged_parts_are_not_read(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    found = embed(tiny_elmo, corpus, tmp_path / "out")
    path = tmp_path / "out/part-00001.parquet"
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    read = iter(found)
    next(read)  # the first part is whole
    with pytest.raises(FormatError, match=r"part-00001.parquet is damaged: its checksum is"):
        list(read)


def test_metadata_without_its_checksum(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    job = begin(tiny_elmo, corpus, tmp_path / "out")
    job.run(0)
    for path in (tmp_path / "out/_parts/part-00000.json", tmp_path / "out" / MANIFEST):
        content = path.read_bytes()
        said = json.loads(content)
        del said["checksum"]
        path.write_text(json.dumps(said))
        with pytest.raises(FormatError, match="is damaged: its checksum is missing"):
            begin(tiny_elmo, corpus, tmp_path / "out").run(0)
        path.write_bytes(content)
