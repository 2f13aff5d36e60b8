"""A saved task says which vectors it needs, and takes no others."""

import json
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.errors import ConfigError, FormatError
from elmore.folders import write_json
from elmore.tasks import Classifier, Tagger
from elmore.text import Vocab
from tests.model.test_context import scoring_model
from tests.tasks.made_examples import SMALL, sentences, texts


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
    other = moved.features_.elmo
    with torch.no_grad():
        next(other.bilm.parameters()).add_(1)
    other = other.with_bilm(other.bilm)
    with pytest.raises(FormatError, match="was trained with other elmo vectors"):
        Classifier.load(tmp_path / "task", elmo=other)
    (tmp_path / "task/model.safetensors").write_bytes(b"nothing")
    with pytest.raises(FormatError, match="is damaged: it has 7 bytes"):
        Classifier.load(tmp_path / "task", elmo=tmp_path / "moved")
    with pytest.raises(FormatError, match="expected the folder of a trained task"):
        Classifier.load(tmp_path)


def test_the_tokenizer_of_a_given_elmo_is_saved(tiny_model: Path, tmp_path: Path) -> None:
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    assert elmo.model.tokenizer != "whitespace"
    task = Classifier(elmo, **SMALL).fit(texts(20))
    task.save(tmp_path / "task")
    loaded = Classifier.load(tmp_path / "task")
    assert loaded.features_.tokenizer.name == "whitespace"
    said = ["it's poor/bad, the film"]
    assert (loaded.predict_proba(said) == task.predict_proba(said)).all()
    Classifier(tiny_model, **SMALL).fit(texts(20)).save(tmp_path / "own")
    assert Classifier.load(tmp_path / "own").tokenizer is None


@pytest.mark.parametrize("tokenizer", ["korean-vocabulary", "korean-eojeol"])
@pytest.mark.parametrize("is_given", [True, False])
def test_a_named_tokenizer_normalizes_before_and_after_saving(
    tmp_path: Path, tokenizer: str, is_given: bool
) -> None:
    words = ["<S>", "</S>", "<UNK>", "영화", "가", "정말", "좋", "다", "."]
    model = replace(scoring_model(), vocab=Vocab(words), normalization="NFC")
    Elmo(model).save_pretrained(tmp_path / "ko")
    elmo = Elmo.from_pretrained(tmp_path / "ko", tokenizer=tokenizer if is_given else None)
    task = Classifier(elmo, tokenizer=None if is_given else tokenizer, **SMALL)
    task.fit(["영화가 정말", "정말 좋다"] * 10, ["a", "b"] * 10).save(tmp_path / "task")
    loaded = Classifier.load(tmp_path / "task")
    composed = ["영화가 정말"]
    decomposed = [unicodedata.normalize("NFD", composed[0])]
    expected = task.predict_proba(composed)
    for one in (task, loaded):
        np.testing.assert_allclose(one.predict_proba(composed), expected, atol=1e-6)
        np.testing.assert_allclose(one.predict_proba(decomposed), expected, atol=1e-6)


@pytest.mark.parametrize(("cls", "labels", "message"), [
    (Classifier, [1, "yes"], "labels has values of several types; expected one"),
    (Classifier, [1, 2**64], "expected a string or a whole number"),
    (Tagger, [1, 2], "labels has 1; expected strings"),
])  # fmt: skip
def test_labels_that_no_task_saves(
    cls: Any, labels: list[Any], message: str, tiny_elmo: Elmo, tmp_path: Path
) -> None:
    make = texts if cls is Classifier else sentences
    cls(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(make(20)).save(tmp_path / "task")
    config = tmp_path / "task/config.json"
    content = json.loads(config.read_text())
    del content["checksum"]
    write_json(config, content | {"labels": labels})
    with pytest.raises(FormatError, match=message):
        cls.load(tmp_path / "task", elmo=tiny_elmo)


def test_a_task_from_an_elmo_of_nowhere(tiny_elmo: Elmo, tmp_path: Path) -> None:
    unnamed = Elmo(tiny_elmo.model)
    Classifier(unnamed, tokenizer="whitespace", **SMALL).fit(texts(20)).save(tmp_path / "task")
    with pytest.raises(ConfigError, match="does not say where its elmo vectors came from"):
        Classifier.load(tmp_path / "task")
    Classifier.load(tmp_path / "task", elmo=unnamed)
