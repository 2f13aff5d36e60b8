"""A symbolic link where something is to be written is replaced or refused, never followed."""

from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo, StaticVectors
from elmore.embed import CorpusOptions, embed_corpus
from elmore.errors import ConfigError, FormatError
from elmore.folders import new_folder
from elmore.locks import locked, locked_folder
from elmore.senses.build import build_index
from elmore.senses.index_file import IndexConfig


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of the user's that links lead to."""
    path = tmp_path / "mine"
    path.write_text("mine")
    return path


def _no_progress(n_texts: int, n_tokens: int | None) -> None:
    pass


@pytest.mark.parametrize("suffix", [".jsonl", ".npz", ".h5", ".parquet"])
def test_vectors_replace_a_link(tiny_model: Path, mine: Path, suffix: str) -> None:
    out = mine.with_name(f"out{suffix}")
    out.symlink_to(mine)
    embed_corpus(Elmo.from_pretrained(tiny_model), ["a text"], out, CorpusOptions(), _no_progress)
    assert mine.read_text() == "mine"
    assert not out.is_symlink()


def test_static_vectors_replace_a_link(mine: Path) -> None:
    out = mine.with_name("vectors.txt")
    out.symlink_to(mine)
    StaticVectors(["a"], np.ones((1, 2), np.float32)).write_text(out)
    assert mine.read_text() == "mine"
    assert list(StaticVectors.load(out).vocab) == ["a"]


@pytest.mark.parametrize("target", ["nothing", "empty"])
def test_a_folder_is_not_made_through_a_link(tmp_path: Path, target: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / target)
    with (
        pytest.raises(ConfigError, match="out is a symbolic link; choose another name"),
        new_folder(tmp_path / "out"),
    ):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "out"]
    assert list((tmp_path / "empty").iterdir()) == []


def test_a_lock_is_not_made_through_a_link(tmp_path: Path) -> None:
    (tmp_path / ".lock").symlink_to(tmp_path / "target")
    for hold in (locked_folder(tmp_path), locked(tmp_path / ".lock", tmp_path / "out")):
        with pytest.raises(ConfigError, match="lock is a symbolic link; remove it"), hold:
            pass
    assert not (tmp_path / "target").exists()


@pytest.mark.parametrize("name", ["vectors-0.f16", "sentences.txt"])
def test_an_index_does_not_grow_through_a_link(tiny_model: Path, mine: Path, name: str) -> None:
    def interrupted() -> object:
        yield from (f"a text {number}" for number in range(300))
        raise KeyboardInterrupt

    elmo, folder = Elmo.from_pretrained(tiny_model), mine.with_name("index")
    config, source = IndexConfig((0,)), [{"name": "a.txt"}]
    with pytest.raises(KeyboardInterrupt):
        build_index(elmo, interrupted(), folder, config, source=source)  # type: ignore[arg-type]
    content = (folder / name).read_bytes() + b"more"
    mine.write_bytes(content)
    (folder / name).unlink()
    (folder / name).symlink_to(mine)
    with pytest.raises(FormatError, match="is a symbolic link, which a build does not follow"):
        build_index(elmo, ["a text"], folder, config, source=source)
    assert mine.read_bytes() == content
