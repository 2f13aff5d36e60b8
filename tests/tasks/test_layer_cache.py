"""The biLM reads each sentence once."""

from pathlib import Path

import pytest

from elmore import Elmo
from elmore.tasks import Classifier
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
