"""The biLM reads each sentence once."""

from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.tasks import Classifier, layer_cache
from tests.tasks.made_examples import SMALL, texts


def test_an_epoch_reads_no_text_again(
    tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, dev = texts(30), texts(10, seed=2)
    model = Classifier(tiny_elmo, cache=tmp_path / "cache", **SMALL).fit(train, dev=dev)
    files = sorted(path.name for path in (tmp_path / "cache").iterdir())
    assert len(files) == 2
    monkeypatch.setattr(tiny_elmo, "encode_tokens", None)  # the biLM cannot run any more
    again = Classifier(tiny_elmo, cache=tmp_path / "cache", **SMALL).fit(train, dev=dev)
    assert model.progress_.scores == again.progress_.scores
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == files


def test_few_sentences_need_no_file(tiny_elmo: Elmo, monkeypatch: pytest.MonkeyPatch) -> None:
    train, dev = texts(30), texts(10, seed=2)
    monkeypatch.setattr(layer_cache, "TemporaryFile", None)  # none can be made
    in_memory = Classifier(tiny_elmo, **SMALL).fit(train, dev=dev)
    expected = in_memory.predict_proba(dev.X)
    monkeypatch.undo()
    monkeypatch.setattr(layer_cache, "_MOST_IN_MEMORY", 0)
    on_disk = Classifier(tiny_elmo, **SMALL).fit(train, dev=dev)
    np.testing.assert_array_equal(on_disk.predict_proba(dev.X), expected)
