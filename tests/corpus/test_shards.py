"""A corpus that was changed or damaged is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore.corpus.config import CorpusConfig
from elmore.corpus.files import fingerprint
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus, verify_corpus
from elmore.errors import ConfigError, FormatError
from elmore.metadata import checksum_of

PLAIN = CorpusConfig(tokenizer="whitespace", held_out=0, max_words=5)  # two words, others outside


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("하나 둘\n셋 둘 넷\n둘 하나 다섯\n", encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, text: Path) -> Path:
    prepare([text], tmp_path / "corpus", PLAIN)
    return tmp_path / "corpus"


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Edit a manifest, whose checksum is then that of what is in it."""
    manifest = json.loads((folder / "manifest.json").read_text())
    edit(manifest)
    if "checksum" in manifest:
        manifest["checksum"] = checksum_of(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def as_earlier(folder: Path) -> None:
    """Make of a corpus what earlier versions wrote: SHA-256 of each file, none of the manifest."""

    def edit(manifest: dict[str, Any]) -> None:
        manifest["files"] = {name: fingerprint(folder / name) for name in manifest["files"]}
        del manifest["checksum"]

    change(folder, edit)


def without_checksums(folder: Path) -> None:
    def edit(manifest: dict[str, Any]) -> None:
        for record in manifest["files"].values():
            del record["xxh3"]
        del manifest["checksum"]

    change(folder, edit)


def test_damage_is_found(folder: Path, text: Path) -> None:
    shard = folder / "train-00000.shard"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    corpus = Corpus.load(folder)
    message = rf"{shard} is damaged: its checksum is .*; remove {folder} and prepare the text again"
    with pytest.raises(FormatError, match=message):
        _ = corpus.training.shards[0].ids
    with pytest.raises(FormatError, match=message):
        prepare([text], folder, PLAIN)
    problems = {file.name: file.problem for file in verify_corpus(folder)}
    assert [name for name, problem in problems.items() if problem] == [shard.name]
    shard.write_bytes(content[:-1])
    with pytest.raises(FormatError, match=rf"has {len(content) - 1} bytes, expected"):
        Corpus.load(folder)
    shard.unlink()
    with pytest.raises(FormatError, match="has no bytes, expected"):
        Corpus.load(folder)


def test_a_damaged_vocabulary(folder: Path) -> None:
    content = (folder / "vocab.txt").read_bytes()
    (folder / "vocab.txt").write_bytes(content.replace("둘".encode(), "돌".encode()))
    with pytest.raises(FormatError, match=r"vocab\.txt is damaged: its checksum is"):
        Corpus.load(folder)


def test_a_damaged_manifest(folder: Path) -> None:
    whole = (folder / "manifest.json").read_text()
    for damage, message in (
        (lambda m: m.update(format="other"), "format is 'other'; this version reads"),
        (lambda m: m.pop("texts"), "lacks texts; remove"),
        (lambda m: m.update(n_lines="4"), "n_lines is '4'; expected a whole number"),
        (lambda m: m["training"].update(n_words=9), "n_words is 9; its shards have 8"),
        (lambda m: m["files"].pop("vocab.txt"), r"lacks files\.vocab\.txt"),
        (lambda m: m.update(n_vocab_words=6), "has 5 words, expected 6"),
        (
            lambda m: m["training"]["shards"][0].update(first_outside=9),
            "first_outside of train-00000.shard is 9; expected 5",
        ),
        (
            lambda m: m["files"].update({"../text.txt": {"size": 1}}),
            "expected names of files beside it",
        ),
    ):
        change(folder, damage)
        with pytest.raises(FormatError, match=message):
            Corpus.load(folder)
        (folder / "manifest.json").write_text(whole)
    (folder / "manifest.json").write_text(whole.replace('"n_lines": 3', '"n_lines": 4'))
    with pytest.raises(FormatError, match="its checksum does not match its fields; remove"):
        Corpus.load(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(FormatError, match=r"has no manifest\.json; expected a prepared corpus"):
        Corpus.load(folder)


def test_a_shard_outside_of_the_folder(folder: Path) -> None:
    change(folder, lambda m: m["training"]["shards"][0].update(file="../other.shard"))
    with pytest.raises(FormatError, match=r"lacks files\.\.\./other\.shard"):
        Corpus.load(folder)


@pytest.mark.parametrize("earlier", [as_earlier, without_checksums])
def test_a_corpus_of_an_earlier_version(
    folder: Path, text: Path, earlier: Callable[[Path], None]
) -> None:
    expected = Corpus.load(folder).training.shards[0]
    earlier(folder)
    shard = prepare([text], folder, PLAIN).training.shards[0]
    np.testing.assert_array_equal(shard.ids, expected.ids)
    assert shard.words(np.array([5, 7])) == expected.words(np.array([5, 7]))
    statuses = {file.name: file.has_checksum for file in verify_corpus(folder)}
    has_one = earlier is as_earlier
    assert statuses == {"manifest.json": False, shard.path.name: has_one, "vocab.txt": has_one}
    with pytest.raises(ConfigError, match="max_words differ"):
        prepare([text], folder, CorpusConfig(tokenizer="whitespace", held_out=0, max_words=6))


def test_damage_without_a_checksum(folder: Path) -> None:
    without_checksums(folder)
    path = folder / "train-00000.shard"
    content = path.read_bytes()
    n_before_words = len(content) - len("셋넷다섯".encode())
    for place, value, message in (
        (0, 9, "its sentences or words are not where"),
        (3 * 8, 200, "its sentences or words are not where"),
        (n_before_words - 1, 128, "its sentences or words are not where"),
        (n_before_words, 255, "a word is not UTF-8"),
    ):
        path.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
        with pytest.raises(FormatError, match=message):
            Corpus.load(folder).training.shards[0].words(np.array([5]))
