"""How the use of a word changed between two corpora."""

from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError
from elmore.senses.build import build_index
from elmore.senses.change import divergence, sense_changes, word_change, word_changes
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig


def test_change(english: Elmo, old_and_new: tuple[OccurrenceIndex, OccurrenceIndex]) -> None:
    old, new = old_and_new
    found = {change.word: change for change in word_changes(old, new, 2)}
    assert found["a"].prototype < 1e-3
    assert found["bank"].prototype > 10 * max(1e-4, found["a"].prototype)
    assert "loan" not in found  # too rare in the old one
    assert ";" not in found
    assert len(old.rows(";")) == 30
    assert list(found.values()) == sorted(found.values(), key=lambda c: -c.prototype)
    one = word_change(old, new, 2, "bank")
    assert one == found["bank"]
    x, y = (np.asarray(i.vectors(2)[i.rows("bank")], np.float64) for i in old_and_new)
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    assert one.pairwise == pytest.approx(1 - (x @ y.T).mean(), abs=1e-6)
    jumped, senses, _ = sense_changes(english, old, new, "bank")
    assert [(sense.old, sense.new) for sense in senses] == [(0.9, 0.2), (0.1, 0.8)]
    shares = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert jumped == pytest.approx(divergence(*shares))


def test_divergence() -> None:
    assert divergence(np.array([0.5, 0.5]), np.array([0.5, 0.5])) == 0
    assert divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1


def test_indexes_of_two_models(
    tiny_model: Path, tmp_path: Path,
    old_and_new: tuple[OccurrenceIndex, OccurrenceIndex],
) -> None:  # fmt: skip
    other = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    config = IndexConfig(layers=(2,))
    built = build_index(other, ["a bank"] * 3, tmp_path / "other", config, source=[{"name": "x"}])
    with pytest.raises(ConfigError, match="were built with another model each"):
        word_changes(old_and_new[0], built, 2)
