"""Training resumes to the same result, stops early, and takes small batches of few examples."""

from pathlib import Path
from typing import Any

import pytest
import torch

from elmore import Elmo, StaticVectors
from elmore.errors import ConfigError, DataError
from elmore.tasks import Classifier, Examples, Tagger
from elmore.tasks.classify import ExampleLabels
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
    other_elmo = other_elmo.with_bilm(other_elmo.bilm)
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


@pytest.mark.parametrize("unfreeze", ["gradual", "all"])
def test_a_bilm_is_fine_tuned_from_the_top(tiny_elmo: Elmo, unfreeze: str) -> None:
    model = Classifier(tiny_elmo, freeze=False, unfreeze=unfreeze, **SMALL)
    frozen: list[set[str]] = []
    changed: list[set[str]] = []
    before: dict[str, torch.Tensor] = {}

    def on_progress(event: FitEvent) -> None:
        bilm = model.network_.tokens.parts["elmo"].bilm
        if event.done == 1:  # a new epoch
            frozen.append({n for n, w in bilm.named_parameters() if not w.requires_grad})
            changed.append(set())
        elif before:
            changed[-1] |= {n for n, w in bilm.named_parameters() if not torch.equal(before[n], w)}
        before.update({name: weight.clone() for name, weight in bilm.state_dict().items()})

    model.fit(texts(40), dev=texts(10, seed=2), on_progress=on_progress)
    names = {name for name, _ in model.network_.tokens.parts["elmo"].bilm.named_parameters()}
    lower = {name for name in names if ".layers.1." not in name}
    expected = [names, lower, {name for name in lower if "lstm" not in name}, set()]
    if unfreeze == "all":
        expected = [set()] * 4
    assert frozen[:4] == expected
    for moved, still in zip(changed[:4], expected, strict=True):
        assert moved == names - still


def test_each_layer_of_a_bilm_has_its_learning_rate(tiny_elmo: Elmo) -> None:
    """In Adam's first update, the weight that moves most moves by the learning rate."""
    options = {"learning_rate": 0.1, "bilm_learning_rate": 0.01, "layer_decay": 4.0, "n_epochs": 1}
    model = Classifier(tiny_elmo, freeze=False, unfreeze="all", **SMALL | options)
    updates: list[FitEvent] = []
    model.fit(texts(4), dev=texts(10, seed=2), on_progress=updates.append)
    assert len(updates) == 1
    before = tiny_elmo.bilm.state_dict()
    bilm = model.network_.tokens.parts["elmo"].bilm
    steps = {name: (w - before[name]).abs().max().item() for name, w in bilm.named_parameters()}
    for part, rate in ((".layers.1.", 0.01), (".layers.0.", 0.0025), ("token_encoder.", 0.000625)):
        step = max(step for name, step in steps.items() if part in name)
        assert step == pytest.approx(rate, rel=1e-3)


def test_the_bilm_s_learning_rate_is_halved_too(
    tiny_elmo: Elmo, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter([0.5, 0.4, 0.3, 0.2])

    def evaluate(self: ExampleLabels, right: Any, found: Any) -> Evaluation:
        return Evaluation("accuracy", next(given))

    rates: list[list[float]] = []

    class RecordedAdam(torch.optim.Adam):
        def step(self, *args: Any) -> Any:
            rates.append([group["lr"] for group in self.param_groups])
            return super().step(*args)

    monkeypatch.setattr(ExampleLabels, "evaluate", evaluate)
    monkeypatch.setattr(torch.optim, "Adam", RecordedAdam)
    options = {"learning_rate": 0.1, "bilm_learning_rate": 0.01, "layer_decay": 4.0, "n_epochs": 4}
    model = Classifier(tiny_elmo, freeze=False, **SMALL | options)
    model.fit(texts(4), dev=texts(10, seed=2))
    first = [0.1, 0.01, 0.0025, 0.000625]
    assert rates[:3] == [pytest.approx(first)] * 3
    assert rates[3] == pytest.approx([rate / 2 for rate in first])


def test_two_fits_with_one_model_are_the_same(tiny_elmo: Elmo) -> None:
    """A fit leaves the biLM that it fine-tunes a copy of as it was."""
    train, dev = texts(40), texts(10, seed=2)
    first, second = (
        Classifier(tiny_elmo, freeze=False, unfreeze="all", **SMALL).fit(train, dev=dev)
        for _ in range(2)
    )
    assert first.progress_ == second.progress_
    assert not any(weight.requires_grad for weight in tiny_elmo.bilm.parameters())
