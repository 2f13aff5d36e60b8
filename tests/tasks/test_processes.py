"""A trained task gives the same predictions in other processes, however they begin."""

import multiprocessing
import sys
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.tasks import Classifier, Tagger
from tests.tasks.made_examples import SMALL, sentences, texts

TEXTS = ["the film was good", "", "  ", "bad " * 300, "영화", "the a was fine"]
METHODS = ["fork", "spawn"] if sys.platform != "win32" else ["spawn"]


def probabilities(models: list[Any]) -> list[np.ndarray]:
    return [np.asarray(row) for model in models for row in model.predict_proba(TEXTS)]


def answer(models: list[Any], answers: Any) -> None:
    torch.set_num_threads(1)  # as here: products of another number may round differently
    answers.put(probabilities(models))


@pytest.mark.parametrize("method", METHODS)
def test_the_same_predictions_in_a_child(method: str, tiny_elmo: Elmo) -> None:
    models = [
        Classifier(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(texts(16)),
        Tagger(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(sentences(16)),
    ]
    expected = probabilities(models)
    context = multiprocessing.get_context(method)
    answers = context.Queue()
    child = context.Process(target=answer, args=(models, answers))
    child.start()
    found = answers.get(timeout=300)
    child.join(60)
    # After a spawn the model is loaded anew, and words are encoded in other batches.
    atol = 0 if method == "fork" else 5e-6
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def test_a_text_alone_or_among_others(tiny_elmo: Elmo) -> None:
    examples = texts(40)
    model = Classifier(tiny_elmo, **SMALL | {"n_epochs": 2}).fit(examples)
    together = model.predict_proba(examples.X)
    alone = np.concatenate([model.predict_proba([text]) for text in examples.X])
    np.testing.assert_allclose(alone, together, atol=5e-6)
    backwards = model.predict_proba(examples.X[::-1])[::-1]
    np.testing.assert_allclose(backwards, together, atol=5e-6)
