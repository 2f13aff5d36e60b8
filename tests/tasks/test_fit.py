"""Training resumes to the same result, stops early, and takes small batches of few examples."""

from pathlib import Path
from typing import Any

import pytest
import torch

from elmore import Elmo, StaticVectors
from elmore.errors import ConfigError, DataError
from elmore.tasks import Classifier, Examples, Tagger
from elmore.tasks.fit import FitEvent
from elmore.tasks.metrics import Evaluation
from elmore.tasks.tag import WordTags
from tests.tasks.made_examples import SMALL, sentences, texts


def test_a_run_that_was_stopped_resumes_to_the_same_result(tiny_elmo: Elmo, tmp_path: Path) -> None:
    train, dev = texts(40), texts(10, seed=2)

    def stop(after: int) -> Any:
        calls = [0]

        def on_progress(event: FitEvent) -> None:
            if event.stage == "encode":
                return
            calls[0] += 1
            if calls[0] > after:
                raise KeyboardInterrupt

        return on_progress

    whole = Classifier(tiny_elmo, **SMALL).fit(train, dev=dev)
    for after in (3, 7, 12):
        with pytest.raises(KeyboardInterrupt):
            Classifier(tiny_elmo, **SMALL).fit(
                train, dev=dev, folder=tmp_path / "run", on_progress=stop(after)
            )
    stopped = Classifier(tiny_elmo, **SMALL).fit(train, dev=dev, folder=tmp_path / "run")
    assert stopped.progress_ == whole.progress_
    for name, weight in whole.network_.state_dict().items():
        assert torch.equal(stopped.network_.state_dict()[name], weight)


def test_a_run_is_resumed_by_the_same_run_only(
    tiny_model: Path, static: StaticVectors, tmp_path: Path
) -> None:
    train, dev, run = texts(40), texts(10, seed=2), tmp_path / "run"

    def stop(event: FitEvent) -> None:
        if (run / "last.safetensors").exists():
            raise KeyboardInterrupt

    def new(**changes: Any) -> Classifier:
        elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
        return Classifier(**{"elmo": elmo, "static": static, **SMALL, **changes})

    with pytest.raises(KeyboardInterrupt):
        new().fit(train, dev=dev, folder=run, on_progress=stop)
    kept = {path.name: path.read_bytes() for path in run.iterdir()}
    assert sorted(kept) == ["last.safetensors", "run.json"]
    other_static = StaticVectors(static.vocab.words, static.vectors + 1)
    other_elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    with torch.no_grad():
        next(other_elmo.bilm.parameters()).add_(1)
    for what, model, examples, watched in (
        ("examples", new(), texts(40, seed=7), dev),
        ("examples", new(), train, texts(10, seed=3)),
        ("examples", new(), Examples(train.X, train.y[::-1]), dev),
        ("settings", new(learning_rate=0.5), train, dev),
        ("settings", new(dropout=0.7), train, dev),
        ("settings", new(elmo_dropout=0.7), train, dev),
        ("settings", new(seed=9), train, dev),
        ("static", new(static=other_static), train, dev),
        ("elmo", new(elmo=other_elmo), train, dev),
    ):
        with pytest.raises(ConfigError, match=rf"another run \({what} changed\)"):
            model.fit(examples, dev=watched, folder=run)
        assert {path.name: path.read_bytes() for path in run.iterdir()} == kept
    resumed, whole = new().fit(train, dev=dev, folder=run), new().fit(train, dev=dev)
    assert resumed.progress_ == whole.progress_


def test_a_run_that_cannot_begin_leaves_nothing(tiny_elmo: Elmo, tmp_path: Path) -> None:
    model = Classifier(tiny_elmo, **SMALL | {"learning_rate": 1e30})
    with pytest.raises(DataError, match="smaller learning_rate"):
        model.fit(texts(9), folder=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_patience_begins_when_something_was_learnt(
    tiny_elmo: Elmo, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter([0.0, 0.0, 0.0, 0.5, 0.4, 0.3, 0.9])

    def evaluate(self: WordTags, right: Any, found: Any) -> Evaluation:
        return Evaluation("span F1", next(given))

    monkeypatch.setattr(WordTags, "evaluate", evaluate)
    model = Tagger(tiny_elmo, **SMALL | {"n_epochs": 7, "patience": 2}).fit(sentences(20))
    assert model.progress_.scores == [0.0, 0.0, 0.0, 0.5, 0.4, 0.3]
    assert model.progress_.best_epoch == 4


@pytest.mark.parametrize(("n", "n_batches"), [(12, 3), (100, 20), (400, 25)])
def test_few_examples_are_read_in_small_batches(
    n: int, n_batches: int, static: StaticVectors
) -> None:
    told: list[FitEvent] = []
    model = Classifier(None, static, hidden_dim=4, n_epochs=1, batch_size=16)
    model.fit(texts(n), dev=texts(5), on_progress=told.append)
    assert [(event.done, event.total) for event in told] == [
        (number, n_batches) for number in range(1, n_batches + 1)
    ]
