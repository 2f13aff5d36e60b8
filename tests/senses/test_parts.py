"""An index that was merged from parts is the one that is built at once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.corpus.files import describe_text, read_texts
from elmore.errors import ConfigError, DataError, FormatError
from elmore.scale import index_parts
from elmore.senses.build import build_index
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from elmore.senses.parts import IndexJob, index_block
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus

ALL = IndexConfig(layers=(0, "expected"))


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    return write_corpus(tmp_path)


def at_once(elmo: Elmo, corpus: list[Path], folder: Path, config: IndexConfig) -> OccurrenceIndex:
    source = [{**describe_text(path), "field": "text"} for path in corpus]
    return build_index(elmo, read_texts(corpus, "text"), folder, config, source=source)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_per_word": 4},
        {"words": ("bank", "은행")},
        {"words": ("bank", "boats"), "max_per_word": 20},
        {"words": ("bank", "absent"), "max_per_word": 20},
    ],
)
def test_the_same_occurrences_and_vectors(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path, options: dict[str, Any]
) -> None:
    config = IndexConfig(layers=(0, "expected"), **options)
    expected = at_once(tiny_elmo, corpus, tmp_path / "expected", config)
    index_parts(tiny_elmo, corpus, tmp_path / "found", config, block_bytes=BLOCK_BYTES)
    found = OccurrenceIndex.load(tmp_path / "found")
    for name in ("words.txt", "occurrences.i32", "sentences.txt", "sentences.i64"):
        assert (found.folder / name).read_bytes() == (expected.folder / name).read_bytes(), name
    for layer in config.layers:
        np.testing.assert_allclose(
            np.asarray(found.vectors(layer), np.float32),
            np.asarray(expected.vectors(layer), np.float32),
            atol=1e-3,
        )
    assert sorted(bytes_of(found.folder)) == sorted(bytes_of(expected.folder))


@pytest.mark.parametrize("most", [None, 4])
def test_the_same_bytes_up_to_one_block(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path, most: int | None
) -> None:
    config = IndexConfig(layers=(1, 2), max_per_word=most)
    at_once(tiny_elmo, corpus[:1], tmp_path / "expected", config)
    index_parts(tiny_elmo, corpus[:1], tmp_path / "found", config)
    assert bytes_of(tmp_path / "found") == bytes_of(tmp_path / "expected")
    before = bytes_of(tmp_path / "found")
    index_parts(tiny_elmo, corpus[:1], tmp_path / "found", config)  # nothing is left to do
    assert bytes_of(tmp_path / "found") == before


def begin(elmo: Elmo, corpus: list[Path], out: Any, config: IndexConfig = ALL) -> IndexJob:
    return IndexJob.begin(elmo, corpus, out, config, block_bytes=BLOCK_BYTES)


def test_killed_anywhere(
    tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_parts(tiny_elmo, corpus, tmp_path / "whole", ALL, block_bytes=BLOCK_BYTES)
    out = tmp_path / "killed"
    job = begin(tiny_elmo, corpus, out)
    index_block(job, 2)
    with pytest.raises(DataError, match="lacks part-00000; index its block first"):
        job.finish()

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    for where in ("write_json", "PartsFolder.remove"):  # after the merge, after index.json
        with monkeypatch.context() as patch:
            patch.setattr(f"elmore.senses.parts.{where}", stop)
            with pytest.raises(KeyboardInterrupt):
                index_parts(tiny_elmo, corpus, out, ALL, block_bytes=BLOCK_BYTES)
    index_parts(tiny_elmo, corpus, out, ALL, block_bytes=BLOCK_BYTES)
    assert bytes_of(out) == bytes_of(tmp_path / "whole")


def test_a_damaged_part_is_not_merged(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    job = begin(tiny_elmo, corpus, tmp_path / "out")
    for number in range(job.n_blocks):
        job.run(number)
    path = tmp_path / "out/part-00001.vectors-0.f16"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"x")
    with pytest.raises(FormatError, match=r"part-00001.vectors-0.f16 is damaged"):
        job.finish()
    with pytest.raises(FormatError, match=r"part-00001.vectors-0.f16 is damaged"):
        job.run(1)
    path.write_bytes(content)
    job.finish()
    assert len(OccurrenceIndex.load(tmp_path / "out")) > 0


def test_something_else_in_the_folder(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    begin(tiny_elmo, corpus, out).run(0)
    with pytest.raises(FormatError, match="is not finished"):
        OccurrenceIndex.load(out)
    with pytest.raises(ConfigError, match=r"other options \(layers changed\)"):
        begin(tiny_elmo, corpus, out, IndexConfig(layers=(1,)))
    none = IndexConfig(layers=(1,), words=("Bank",))
    with pytest.raises(DataError, match="holds no occurrence"):
        index_parts(tiny_elmo, corpus, tmp_path / "none", none)
    assert not (tmp_path / "none").exists()


def test_at_an_address(tiny_elmo: Elmo, corpus: list[Path], tmp_path: Path) -> None:
    import fsspec

    index_parts(tiny_elmo, corpus, tmp_path / "local", ALL, block_bytes=BLOCK_BYTES)
    store = fsspec.filesystem("memory")
    begin(tiny_elmo, corpus, "memory://index").run(1)
    index_parts(tiny_elmo, corpus, "memory://index", ALL, block_bytes=BLOCK_BYTES)
    written = {path.rpartition("/")[2]: store.cat_file(path) for path in store.find("/index")}
    assert written == bytes_of(tmp_path / "local")
