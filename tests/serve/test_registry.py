"""What a server cannot serve is said before it listens."""

from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import load_registry
from elmore.tasks import Classifier, QuestionAnswerer
from tests.tasks.made_examples import SMALL, texts


def test_a_kind_of_task_that_is_not_served(tiny_model: Path, tmp_path: Path) -> None:
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    model = QuestionAnswerer(elmo, hidden_dim=4, n_epochs=1, tokenizer="whitespace")
    model.fit([("who", "Kim left")] * 6, ["Kim"] * 6).save(tmp_path / "answers")
    message = "the task answers is of the kind 'answer'; a server takes classify, tag, pair"
    with pytest.raises(ConfigError, match=message):
        load_registry(
            [str(tiny_model)], [], [str(tmp_path / "answers")], limits=Limits(), metrics=Metrics()
        )


@pytest.mark.parametrize("served", ["base", "adapted"])
def test_an_adapted_task_brings_its_model(
    served: str, tiny_model: Path, language_model: Path, tmp_path: Path
) -> None:
    task = Classifier(language_model, adapt_epochs=1.0, **SMALL).fit(texts(20), dev=texts(5))
    task.save(tmp_path / "adapted")
    models = {"base": str(tiny_model), "adapted": f"own={tmp_path / 'adapted' / 'bilm'}"}
    registry = load_registry(
        [models[served]], [], [str(tmp_path / "adapted")], limits=Limits(), metrics=Metrics()
    )
    found = registry.task("adapted")
    assert found.model == (None if served == "base" else "own")
    said = texts(5, seed=2).X
    np.testing.assert_array_equal(found.task.predict_proba(said), task.predict_proba(said))
