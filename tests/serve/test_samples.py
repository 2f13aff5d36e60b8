"""The indexes that come with the package."""

import json
import shutil
from pathlib import Path

import pytest

from elmore.metadata import checksum_of
from elmore.senses.index import OccurrenceIndex
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import Registry, load_registry
from elmore.serve.samples import SAMPLES, add_samples


@pytest.fixture(scope="module")
def english() -> Registry:
    return load_registry(["en"], [], [], limits=Limits(), metrics=Metrics())


def test_samples_fit_the_bundled_models_and_the_package() -> None:
    registry = load_registry(["en", "ko"], [], [], limits=Limits(), metrics=Metrics())
    assert add_samples(registry) == []
    assert list(registry.indexes) == ["en-books", "en-wiki", "ko-wiki"]
    assert sum(path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()) <= 5_000_000
    for served in registry.indexes.values():
        assert served.model == served.name[:2]
        assert min(served.counts.values()) >= 10


def test_samples_of_models_that_are_not_served_are_left_out(english: Registry) -> None:
    registry = Registry(english.models, {}, {})
    assert add_samples(registry) == []
    assert list(registry.indexes) == ["en-books", "en-wiki"]


def test_a_sample_of_another_version_is_named(english: Registry, tmp_path: Path) -> None:
    folder = shutil.copytree(SAMPLES / "en-books", tmp_path / "en-books")
    facts = json.loads((folder / "index.json").read_text())
    facts["model"]["hash"] = "0" * 64
    facts["checksum"] = checksum_of(facts)
    (folder / "index.json").write_text(json.dumps(facts))
    registry = Registry(english.models, {}, {})
    assert add_samples(registry, tmp_path) == [
        "the sample index en-books was built with another version of the model en and is not "
        "served; build it again with tools/sample_index.py"
    ]
    assert registry.indexes == {}


def test_sentences_name_their_source() -> None:
    said = {
        path.parent.name: OccurrenceIndex.load(path.parent) for path in SAMPLES.glob("*/*.json")
    }
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    for name, index in said.items():
        (text,) = index.content.corpus
        assert name in readme
        assert "CC BY-SA 3.0" in text["name"] or "public domain" in text["name"]
