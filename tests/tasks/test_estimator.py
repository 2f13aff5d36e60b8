"""Tasks are trained, deterministic given a seed, and the same after saving and loading."""

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from elmore import Elmo, StaticVectors
from elmore.errors import ConfigError, DataError, ElmoreError, FormatError
from elmore.tasks import Classifier, Examples, PairClassifier, Tagger
from elmore.tasks.estimator import TaskModel
from elmore.tasks.fit import FitEvent
from elmore.tasks.metrics import Evaluation
from elmore.tasks.tag import TagHead

SMALL: dict[str, Any] = {"hidden_dim": 12, "n_epochs": 6, "batch_size": 8, "learning_rate": 0.02}
WORDS = ["good", "fine", "bad", "poor", "film", "the", "a", "was"]


@pytest.fixture(scope="module")
def static() -> StaticVectors:
    return StaticVectors(WORDS, np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32))


def texts(n: int, seed: int = 1) -> Examples:
    """A text is good or bad by one of its words."""
    rng = random.Random(seed)
    labels = [rng.choice(["yes", "no"]) for _ in range(n)]
    said = {"yes": ["good", "fine"], "no": ["bad", "poor"]}
    return Examples(
        [f"the {'film ' * rng.randrange(3)}was {rng.choice(said[label])}" for label in labels],
        labels,
    )


def sentences(n: int, seed: int = 1) -> Examples:
    """good and what follows it is a span."""
    rng = random.Random(seed)
    made, tags = [], []
    for _ in range(n):
        words = [rng.choice(WORDS[:4]) for _ in range(rng.randrange(1, 7))]
        made.append(words)
        marks = ["O"] * len(words)
        for k, word in enumerate(words):
            if word == "good" and marks[k] == "O":
                marks[k] = "B-G"
                if k + 1 < len(words) and words[k + 1] != "good":
                    marks[k + 1] = "I-G"
        tags.append(marks)
    return Examples(made, tags)


def pairs(n: int, seed: int = 1) -> Examples:
    """Two texts are alike if they are the same word."""
    rng = random.Random(seed)
    made = [(rng.choice(WORDS[:4]), rng.choice(WORDS[:4])) for _ in range(n)]
    return Examples(made, ["same" if a == b else "other" for a, b in made])


TASKS: dict[str, tuple[type[TaskModel], Any]] = {
    "classify": (Classifier, texts),
    "tag": (Tagger, sentences),
    "pair": (PairClassifier, pairs),
}


@pytest.mark.parametrize("task", TASKS)
def test_what_is_learnt_and_saved(
    task: str, tiny_elmo: Elmo, static: StaticVectors, tmp_path: Path
) -> None:
    cls, make = TASKS[task]
    train, dev, test = make(120), make(30, seed=2), make(40, seed=3)
    settings = SMALL | {"n_epochs": 15, "patience": 15}
    made = [cls(tiny_elmo, static, **settings).fit(train, dev=dev) for _ in range(2)]
    first, second = (list(map(str, model.predict(test.X))) for model in made)
    assert first == second  # the same seed
    found = made[0].evaluate(test)
    assert found.score > 0.85
    assert made[0].score(test.X, test.y) == found.score
    static.source = "here"
    made[0].save(tmp_path / "saved")
    loaded = cls.load(tmp_path / "saved", elmo=tiny_elmo, static=static)
    assert list(map(str, loaded.predict(test.X))) == first
    for a, b in zip(made[0].predict_proba(test.X), loaded.predict_proba(test.X), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a.sum(axis=-1), 1, atol=1e-5)
    assert len(made[0].predict([])) == 0


@pytest.mark.parametrize("options", [
    {"where": "output"}, {"where": "both"}, {"layers": "top"}, {"layers": 0}, {"norm": "token"},
    {"elmo": None}, {"static": None}, {"freeze": False}, {"class_weight": "balanced"},
    {"cache_dtype": "float32"}, {"context_layer": True},
    {"context_layer": True, "freeze": False, "where": "both"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("task", TASKS)
def test_every_arrangement(
    task: str, options: dict[str, Any], tiny_model: Path, static: StaticVectors
) -> None:
    cls, make = TASKS[task]
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    before = {name: value.clone() for name, value in elmo.bilm.state_dict().items()}
    settings = {"elmo": elmo, "static": static, **SMALL, "n_epochs": 2, **options}
    model = cls(**settings).fit(make(40), dev=make(10, seed=2))
    places = {"input": ["input"], "output": ["output"], "both": ["input", "output"]}
    expected = [] if settings["elmo"] is None else places[options.get("where", "input")]
    assert list(model.mixes) == expected
    for mix in model.mixes.values():
        s = list(mix.weights().values())[:-1]
        assert len(s) == 3 + options.get("context_layer", False)
        assert mix.gamma.item() != 1.0
        assert (max(s) == 1.0) == ("layers" in options)
        assert (len(set(s)) > 1) or "layers" in options
    changed = any(not torch.equal(before[name], w) for name, w in elmo.bilm.state_dict().items())
    assert changed == (not options.get("freeze", True))


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
    with pytest.raises(DataError, match="expected a list of tokens and a tag for each"):
        Tagger(tiny_elmo, predicate=True, **SMALL).fit([("a film", 0)], [["O", "O"]])


def test_patience_begins_when_something_was_learnt(
    tiny_elmo: Elmo, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter([0.0, 0.0, 0.0, 0.5, 0.4, 0.3, 0.9])

    def evaluate(self: TagHead, right: Any, found: Any) -> Evaluation:
        return Evaluation("span F1", next(given), 0.0, 0.0, {}, {})

    monkeypatch.setattr(TagHead, "evaluate", evaluate)
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


def test_scikit_learns_conventions(tiny_elmo: Elmo, static: StaticVectors) -> None:
    model = Classifier(tiny_elmo, **SMALL)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.elmo is tiny_elmo
    assert clone(model.set_params(hidden_dim=7)).hidden_dim == 7
    train = texts(120)
    learner = Classifier(tiny_elmo, static, **SMALL | {"n_epochs": 15, "patience": 15})
    scores = cross_val_score(learner, train.X, train.y, cv=2)
    assert scores.shape == (2,)
    assert scores.mean() > 0.8
    assert list(Classifier(tiny_elmo, **SMALL).fit(train).classes_) == ["no", "yes"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: m.fit(texts(9), dev=Examples(["x"], ["maybe"])),
            "has 'maybe', which the",
        ),
        (lambda m: m.fit([], []), "0 examples and 0 labels"),
        (lambda m: m.fit(["a"], ["b", "c"]), "1 examples and 2 labels"),
        (lambda m: m.fit(["a"], ["b"]), "one example only"),
        (lambda m: m.fit(["a", "b"], ["x", "y"]), "each label has one example only"),
        (lambda m: m.predict(["a"]), "is not trained yet; call fit first"),
        (lambda m: m.save("x"), "is not trained yet"),
        (lambda m: m.set_params(elmo=None).fit(texts(9)), "give elmo, static, or both"),
        (lambda m: m.set_params(layers=9).fit(texts(9)), "layers is 9; expected mix, top, or"),
        (
            lambda m: m.set_params(layers="top", context_layer=True).fit(texts(9)),
            "which is a layer of the mix; leave one of them out",
        ),
        (lambda m: m.set_params(where="output").fit(texts(9)), "leaves the input empty"),
        (lambda m: m.set_params(n_epochs=0).fit(texts(9)), "n_epochs is 0; expected a whole"),
        (lambda m: m.set_params(learning_rate=1e30).fit(texts(9)), "smaller learning_rate"),
        (lambda m: m.set_params(class_weight="x").fit(texts(9)), "class_weight is 'x'"),
        (lambda m: m.set_params(dev_share=0).fit(texts(9)), "dev_share is 0"),
    ],
)
def test_what_cannot_be(tiny_elmo: Elmo, change: Any, message: str) -> None:
    with pytest.raises(ElmoreError, match=message):
        change(Classifier(tiny_elmo, **SMALL))


def test_tags_and_pairs_that_cannot_be(tiny_elmo: Elmo) -> None:
    with pytest.raises(DataError, match="sentence 0 has 2 tokens and 1 tags"):
        Tagger(tiny_elmo).fit([["a", "b"]], [["O"]])
    with pytest.raises(DataError, match=r"example 0 is 'a'; expected a pair"):
        PairClassifier(tiny_elmo, **SMALL).fit(["a"] * 9, list("xyxyxyxyx"))


def test_a_saved_task_whose_vectors_are_missing_or_others(tiny_model: Path, tmp_path: Path) -> None:
    home = tmp_path / "elmo"
    shutil.copytree(tiny_model, home)
    Classifier(str(home), tokenizer="whitespace", **SMALL).fit(texts(20)).save(tmp_path / "task")
    assert len(Classifier.load(tmp_path / "task").predict(["the film was good"])) == 1
    with pytest.raises(FormatError, match="holds a task 'classify', not 'tag'"):
        Tagger.load(tmp_path / "task")
    home.rename(tmp_path / "moved")
    with pytest.raises(FormatError, match="there is no folder"):
        Classifier.load(tmp_path / "task")
    moved = Classifier.load(tmp_path / "task", elmo=tmp_path / "moved")
    with torch.no_grad():
        bilm = moved.features_.sources.elmo.bilm
        next(bilm.parameters()).add_(1)
    other = moved.features_.sources.elmo
    with pytest.raises(FormatError, match="was trained with other elmo vectors"):
        Classifier.load(tmp_path / "task", elmo=other)
    (tmp_path / "task/model.safetensors").write_bytes(b"nothing")
    with pytest.raises(FormatError, match="cannot be read"):
        Classifier.load(tmp_path / "task", elmo=tmp_path / "moved")
    with pytest.raises(FormatError, match="expected the folder of a trained task"):
        Classifier.load(tmp_path)


def test_a_task_from_an_elmo_of_nowhere(tiny_elmo: Elmo, tmp_path: Path) -> None:
    unnamed = Elmo(tiny_elmo.model)
    Classifier(unnamed, tokenizer="whitespace", **SMALL).fit(texts(20)).save(tmp_path / "task")
    with pytest.raises(ConfigError, match="does not say where its elmo vectors came from"):
        Classifier.load(tmp_path / "task")
    Classifier.load(tmp_path / "task", elmo=unnamed)


def test_the_gradients_of_the_mix_are_those_of_its_equation(tiny_elmo: Elmo) -> None:
    """ELMo = gamma * sum_j s_j h_j: its derivatives by w and gamma, written out."""
    model = Classifier(tiny_elmo, **SMALL, elmo_dropout=0.0).fit(texts(20))
    tokens = model.network_.tokens
    (layers,) = (v.vectors for v in tiny_elmo.encode_tokens(["the film was good"], layers="all"))
    h = torch.from_numpy(layers)[:, None].double()
    mask = torch.ones(1, h.shape[2], dtype=torch.bool)
    mix = tokens.input_mix.double()
    mix.zero_grad()
    upstream = torch.randn(1, h.shape[2], h.shape[3], dtype=torch.float64)
    (mix(h, mask) * upstream).sum().backward()
    s, gamma = mix.s.detach(), mix.gamma.detach()
    by_layer = (h * upstream).sum(dim=(1, 2, 3))
    torch.testing.assert_close(mix.gamma.grad, (s * by_layer).sum())
    torch.testing.assert_close(mix.w.grad, gamma * s * (by_layer - (s * by_layer).sum()))


def test_examples_without_labels_that_the_task_knows(tiny_elmo: Elmo) -> None:
    model = Classifier(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(texts(8), dev=texts(4, 2))
    with pytest.raises(DataError, match=r"knows none of the examples' labels \('the', 'a'\)"):
        model.evaluate(["film was good", "film was bad"], ["the", "a"])


def test_one_label_only_is_nothing_to_learn(tiny_elmo: Elmo) -> None:
    with pytest.raises(DataError, match="all training examples have the label 'yes'"):
        Classifier(tiny_elmo, **SMALL).fit(["good", "fine", "a"], ["yes"] * 3)


def test_bad_settings_are_refused_before_anything_is_read() -> None:
    with pytest.raises(ConfigError, match="n_epochs is 0; expected a whole number, at least 1"):
        Classifier("a folder that does not exist", n_epochs=0).fit(["a", "b"], ["x", "y"])
