"""What a server cannot serve is said before it listens."""

from pathlib import Path

import pytest

from elmore import Elmo
from elmore.errors import ConfigError
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import load_registry
from elmore.tasks import QuestionAnswerer


def test_a_kind_of_task_that_is_not_served(tiny_model: Path, tmp_path: Path) -> None:
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    model = QuestionAnswerer(elmo, hidden_dim=4, n_epochs=1, tokenizer="whitespace")
    model.fit([("who", "Kim left")] * 6, ["Kim"] * 6).save(tmp_path / "answers")
    message = "the task answers is of the kind 'answer'; a server takes classify, tag, pair"
    with pytest.raises(ConfigError, match=message):
        load_registry(
            [str(tiny_model)], [], [str(tmp_path / "answers")], limits=Limits(), metrics=Metrics()
        )
