"""Tasks are trained, deterministic given a seed, and the same after saving and loading."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from elmore import Elmo, StaticVectors
from elmore.errors import ConfigError, DataError, ElmoreError
from elmore.tasks import (
    Classifier,
    Coreferencer,
    Examples,
    PairClassifier,
    QuestionAnswerer,
    Tagger,
)
from elmore.tasks.estimator import TaskModel
from tests.tasks.made_examples import SMALL, pairs, sentences, texts

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


@pytest.mark.parametrize("task", TASKS)
def test_a_prediction_with_its_probabilities(task: str, tiny_elmo: Elmo) -> None:
    cls, make = TASKS[task]
    train, test = make(30), make(9, seed=3)
    model: Any = cls(tiny_elmo, **SMALL).fit(train)
    n_runs = 0

    def count(*_: object) -> None:
        nonlocal n_runs
        n_runs += 1

    model.network_.register_forward_hook(count)
    found = model.predict_with_proba(test.X)
    assert n_runs == 1
    assert [answer for answer, _ in found] == list(model.predict(test.X))
    for (_, row), expected in zip(found, model.predict_proba(test.X), strict=True):
        np.testing.assert_array_equal(row, expected)
    assert model.predict_with_proba([]) == []


@pytest.mark.parametrize("options", [
    {"where": "output"}, {"where": "both"}, {"layers": "top"}, {"layers": 0}, {"norm": "token"},
    {"elmo": None}, {"static": None},
    {"freeze": False, "unfreeze": "all"},
    {"cache_dtype": "float32"}, {"context_layer": True},
    {"context_layer": True, "freeze": False, "unfreeze": "all", "where": "both"},
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
    for name, weight in elmo.bilm.state_dict().items():
        assert torch.equal(before[name], weight)  # what is fine-tuned is a copy
    tuned = getattr(model.network_.tokens.parts["elmo"], "bilm", None) if expected else None
    assert (tuned is not None) == (not options.get("freeze", True))
    if tuned is not None:
        assert any(not torch.equal(before[name], w) for name, w in tuned.state_dict().items())


@pytest.mark.parametrize("cls", [Classifier, PairClassifier])
def test_balanced_classes(cls: type[TaskModel], tiny_elmo: Elmo) -> None:
    train = TASKS[cls.task][1](40)
    model = cls(tiny_elmo, class_weight="balanced", **SMALL).fit(train)
    counts = [train.y.count(label) for label in model.classes_]
    weights = model.network_.class_weights.tolist()
    assert weights[0] * counts[0] == pytest.approx(weights[1] * counts[1], rel=0.3)  # some held out


@pytest.mark.parametrize("cls", [Tagger, QuestionAnswerer, Coreferencer])
def test_class_weight_is_a_setting_of_classes_alone(cls: type[TaskModel]) -> None:
    with pytest.raises(TypeError, match="class_weight"):
        cls("en", class_weight="balanced")


@pytest.mark.parametrize("labels", [(1, 0), (-3, 20), (True, False), ("yes", "no")], ids=str)
def test_labels_come_back_as_they_were_given(
    labels: tuple[Any, Any], tiny_elmo: Elmo, static: StaticVectors, tmp_path: Path
) -> None:
    train, test = texts(120), texts(30, seed=3)
    y = [labels[label == "no"] for label in train.y]
    model = Classifier(tiny_elmo, static, **SMALL | {"n_epochs": 15, "patience": 15})
    scores = cross_val_score(model, train.X, y, cv=2, error_score="raise")
    assert scores.mean() > 0.8
    model.fit(train.X, np.array(y))
    assert model.classes_.tolist() == sorted(labels)
    model.save(tmp_path / "saved")
    loaded = Classifier.load(tmp_path / "saved", elmo=tiny_elmo, static=static)
    for one in (model, loaded, pickle.loads(pickle.dumps(model))):
        found = one.predict(test.X)
        assert {type(label) for label in found.tolist()} == {type(labels[0])}
        assert set(found.tolist()) == set(labels)
        assert one.classes_.dtype == found.dtype == one.predict([]).dtype
    right = [labels[label == "no"] for label in test.y]
    assert loaded.score(test.X, right) > 0.8
    as_in_a_file = [str(label) for label in right]
    assert loaded.evaluate(test.X, as_in_a_file) == loaded.evaluate(test.X, right)


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
        (lambda m: m.fit(["a"], ["b"]), "leaves none of 1 examples to train on"),
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
        (lambda m: m.fit("ab", ["x", "y"]), "the examples are 'ab'; expected a list"),
        (lambda m: m.fit(["a", "b"], "xy"), "the labels are 'xy'; expected a list"),
        (lambda m: m.fit(None, ["x"]), "the examples are None; expected a list"),
        (lambda m: m.fit({"text": ["a"]}, ["x"]), "expected a list, such as"),
        (lambda m: m.fit(pandas.DataFrame({"text": ["a"]}), ["x"]), "give one of its columns"),
        (lambda m: m.fit(["a", None] * 9, ["x", "y"] * 9), "example [0-9]+ is of type NoneType"),
        (lambda m: m.fit(["a", [["a"]]] * 9, ["x", "y"] * 9), r"has the token \['a'\]; expected"),
        (lambda m: m.fit(["a"] * 9, [1, "1", 2] * 3), "labels are of the types int, str; expected"),
        (lambda m: m.fit(["a"] * 9, [0.5, 1.0, 2.0] * 3), "label [0-9.]+ is of type float; expec"),
        (lambda m: m.fit(["a"] * 9, [None, "x", "y"] * 3), "label None is of type NoneType; expec"),
        (lambda m: m.fit(["a"] * 9, [2**64, 1, 2] * 3), "the label 18446744073709551616 is of"),
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


@pytest.mark.parametrize(("given", "message"), [
    ("a b", "the examples are 'a b'; expected a list"),
    (b"a b", "the examples are b'a b'; expected a list"),
    (["a", None], "example 1 is of type NoneType; expected a string or a list of tokens"),
    (["a", 3], "example 1 is of type int; expected a string or a list of tokens"),
    ([[["a"]]], r"example 0 has the token \['a'\]; expected strings only"),
])  # fmt: skip
@pytest.mark.parametrize("task", ["classify", "tag"])
def test_what_cannot_be_predicted(task: str, given: Any, message: str, tiny_elmo: Elmo) -> None:
    cls, make = TASKS[task]
    model = cls(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(make(8), dev=make(8))
    for predict in (model.predict, model.predict_proba):
        with pytest.raises(DataError, match=message):
            predict(given)


@pytest.mark.parametrize(("given", "message"), [
    (["ab"], "example 0 is 'ab'; expected a pair of texts"),
    ([None], "example 0 is None; expected a pair of texts"),
    ([("a", None)], "example 0 is of type NoneType; expected a string or a list of tokens"),
])  # fmt: skip
def test_what_is_no_pair(given: Any, message: str, tiny_elmo: Elmo) -> None:
    model = PairClassifier(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(pairs(9))
    with pytest.raises(DataError, match=message):
        model.predict(given)


@pytest.mark.parametrize(("given", "tags", "message"), [
    ([[], [], []], [[], [], []], "the training examples have no labels"),
    ([["a"]] * 3, [[1], [2], [3]], r"the tags of sentence 0 are \[1\]; expected a list of strings"),
    ([["a"]] * 3, [1, 2, 3], "the tags of sentence 0 are 1; expected a list of strings"),
    ([["a", "b"]] * 3, ["BO"] * 3, "the tags of sentence 0 are 'BO'; expected a list of strings"),
    (["a b"] * 3, [["B", "O"]] * 3, "sentence 0 is 'a b'; expected a list of tokens"),
    ([None] * 3, [["B"]] * 3, "sentence 0 is of type NoneType"),
])  # fmt: skip
def test_tags_that_cannot_be_learned(given: Any, tags: Any, message: str, tiny_elmo: Elmo) -> None:
    with pytest.raises(DataError, match=message):
        Tagger(tiny_elmo, **SMALL).fit(given, tags)


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
