"""A biLM learns a task's texts before the task does, and is saved with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.errors import ConfigError, DataError, FormatError
from elmore.tasks import Classifier
from elmore.tasks.adapt import adapt
from elmore.tasks.fit import FitEvent
from elmore.tasks.saved import verify_task
from tests.tasks.made_examples import SMALL, texts


def test_the_texts_become_likelier(language_model: Path) -> None:
    elmo = Elmo.from_pretrained(language_model)
    before = {name: value.clone() for name, value in elmo.bilm.state_dict().items()}
    sentences = [tuple(text.split()) for text in texts(60).X]
    events: list[FitEvent] = []
    adapted = adapt(elmo, [*sentences, ("a b",)], n_epochs=4, seed=1, on_progress=events.append)
    assert {event.stage for event in events} == {"adapt"}
    assert events[-1].done == events[-1].total == len(events)
    assert adapted.tokenizer.name == elmo.tokenizer.name
    assert adapted.model.vocab is not None
    assert elmo.model.vocab is not None
    assert adapted.model.vocab.words == elmo.model.vocab.words
    told = [np.mean([score.forward.mean() for score in one.scores(sentences[:10])])
            for one in (elmo, adapted)]  # fmt: skip
    assert told[1] > told[0]
    for name, weight in elmo.bilm.state_dict().items():
        assert torch.equal(before[name], weight)


@pytest.mark.parametrize("freeze", [True, False])
def test_an_adapted_task_is_saved_with_its_bilm(
    language_model: Path, tmp_path: Path, freeze: bool
) -> None:
    train, dev = texts(40), texts(10, seed=2)
    options: dict[str, Any] = {**SMALL, "adapt_epochs": 2.0, "freeze": freeze}
    whole = Classifier(language_model, **options).fit(train, dev=dev)
    whole.save(tmp_path / "task")
    loaded = Classifier.load(tmp_path / "task")
    np.testing.assert_array_equal(loaded.predict_proba(dev.X), whole.predict_proba(dev.X))
    assert {one.name for one in verify_task(tmp_path / "task")} >= {
        "config.json", "model.safetensors", "bilm/config.json", "bilm/model.safetensors",
    }  # fmt: skip
    plain = Classifier(language_model, **{**options, "adapt_epochs": 0.0}).fit(train, dev=dev)
    assert not np.array_equal(plain.predict_proba(dev.X), whole.predict_proba(dev.X))


def test_a_run_stopped_while_adapting_resumes(language_model: Path, tmp_path: Path) -> None:
    train, dev, run = texts(40), texts(10, seed=2), tmp_path / "run"
    options: dict[str, Any] = {**SMALL, "adapt_epochs": 2.0}
    whole = Classifier(language_model, **options).fit(train, dev=dev)

    for stage in ("adapt", "train"):

        def stop(event: FitEvent, stage: str = stage) -> None:
            if event.stage == stage and event.done > 3:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Classifier(language_model, **options).fit(train, dev=dev, folder=run, on_progress=stop)
        assert (run / "adapted").is_dir()
    stopped = Classifier(language_model, **options).fit(train, dev=dev, folder=run)
    assert stopped.progress_ == whole.progress_
    np.testing.assert_array_equal(stopped.predict_proba(dev.X), whole.predict_proba(dev.X))


def test_a_setting_that_cannot_be_is_refused_before_the_bilm_is_adapted(
    language_model: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {**SMALL, "adapt_epochs": 2.0, "layers": 9}
    events: list[FitEvent] = []
    with pytest.raises(ConfigError, match="layers is 9; expected mix, top, or a number"):
        Classifier(language_model, **options).fit(
            texts(40), folder=tmp_path / "run", on_progress=events.append
        )
    assert not events
    assert not (tmp_path / "run").exists()


def test_what_is_no_text_is_left_out(language_model: Path) -> None:
    elmo = Elmo.from_pretrained(language_model)
    said = [("the", "film", "was", "good"), ("a", "bad", "film")] * 5
    adapted = [
        adapt(elmo, some, n_epochs=1.0, seed=1).bilm.state_dict()
        for some in (said, [*said, ("a", "\ud800"), ("a", "two words")])
    ]
    for name, weight in adapted[0].items():
        assert torch.equal(adapted[1][name], weight)


def test_what_cannot_be_adapted(tiny_elmo: Elmo, language_model: Path) -> None:
    with pytest.raises(DataError, match="there are 8 tokens of text to adapt the biLM to"):
        Classifier(language_model, adapt_epochs=1.0, **SMALL).fit(
            ["the film", "a bad film was"] * 5, ["yes", "no"] * 5, dev=texts(10)
        )
    with pytest.raises(FormatError, match="the biLM has no softmax"):
        Classifier(tiny_elmo, adapt_epochs=1.0, **SMALL).fit(texts(40), dev=texts(10, seed=2))
    with pytest.raises(ConfigError, match="adapt_epochs is -1; expected 0 or more"):
        Classifier(tiny_elmo, adapt_epochs=-1).fit(texts(40))
    with pytest.raises(ConfigError, match="adapt_epochs is given, but no biLM"):
        Classifier(None, adapt_epochs=1.0).fit(texts(40))
