"""Semantic roles depend on the predicate; a sentence may have no words."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.errors import DataError
from elmore.tasks import Examples, Tagger
from tests.tasks.made_examples import SMALL, WORDS, sentences


def test_roles_of_the_predicate_that_is_asked_about(tiny_elmo: Elmo, tmp_path: Path) -> None:
    """The word before the predicate is its role, so that only its place tells."""
    rng = random.Random(1)
    clauses, tags = [], []
    for _ in range(150):
        words = [rng.choice(WORDS) for _ in range(6)]
        place = rng.randrange(1, 6)
        clauses.append((words, place))
        tags.append(["B-A0" if k == place - 1 else "O" for k in range(6)])
    settings = SMALL | {"n_epochs": 12, "learning_rate": 0.01, "hidden_dim": 32, "dropout": 0.0}
    tagger = Tagger(tiny_elmo, predicate=True, **settings).fit(clauses, tags)
    assert tagger.evaluate(clauses, tags).score > 0.95
    tagger.save(tmp_path / "roles")
    loaded = Tagger.load(tmp_path / "roles", elmo=tiny_elmo)
    assert loaded.predict(clauses[:5]) == tagger.predict(clauses[:5])
    with pytest.raises(DataError, match="name a place in it"):
        tagger.predict([(["a", "film"], 2)])
    with pytest.raises(DataError, match="expected tokens and the place of the predicate"):
        tagger.predict([["a", "film"]])
    with pytest.raises(DataError, match=r"set predicate=True \(--predicate\), or give sentences"):
        Tagger(tiny_elmo, **SMALL).fit(clauses, tags)
    with pytest.raises(DataError, match="expected a list of tokens"):
        Tagger(tiny_elmo, predicate=True, **SMALL).fit([("a film", 0)], [["O", "O"]])


def test_sentences_without_words(tiny_elmo: Elmo) -> None:
    given = sentences(20)
    settings = SMALL | {"n_epochs": 1, "batch_size": 64}
    plain = Tagger(tiny_elmo, **settings).fit(given, dev=sentences(6, 2))
    more = Examples([*given.X, []], [*given.y, []])
    tagger = Tagger(tiny_elmo, **settings).fit(more, dev=sentences(6, 2))
    assert tagger.progress_ == plain.progress_
    assert tagger.predict([[], ["good", "film"]])[0] == []
    assert tagger.predict_proba([[]])[0].shape == (0, len(tagger.task_.answers.tags))
    assert tagger.evaluate(more).score == tagger.evaluate(given).score


def test_probabilities_in_inference_mode(tiny_elmo: Elmo) -> None:
    """They are gradients, which inference mode has none of."""
    tagger = Tagger(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(sentences(20), dev=sentences(6, 2))
    expected = tagger.predict_proba([["good", "film"]])
    with torch.inference_mode():
        found = tagger.predict_proba([["good", "film"]])
    np.testing.assert_array_equal(found, expected)
