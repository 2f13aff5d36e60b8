"""Inputs are items of one list, each with its own mix; anything with an encode_tokens may join."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from elmore import Elmo, StaticVectors
from elmore.errors import ConfigError, DataError, ElmoreError
from elmore.tasks import CharInput, Classifier, ElmoInput, StaticInput, Tagger, VectorInput
from elmore.tasks.compare import compare
from elmore.tasks.encoded import StoredSentences
from elmore.tasks.input_list import input_of
from elmore.tasks.inputs import Storage
from tests.tasks.made_examples import SMALL, sentences, texts


class Lengths:
    """An encoder of another library: the length of each word, in three dimensions."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale, self.n_calls = scale, 0

    def encode_tokens(self, given: Sequence[Sequence[str]]) -> list[np.ndarray]:
        self.n_calls += 1
        return [
            self.scale * np.array([[len(word), 1, 0] for word in tokens], np.float32)
            for tokens in given
        ]


def test_the_gradients_of_the_mix_are_those_of_its_equation(tiny_elmo: Elmo) -> None:
    """ELMo = gamma * sum_j s_j h_j: its derivatives by w and gamma, written out."""
    model = Classifier(tiny_elmo, **SMALL, elmo_dropout=0.0).fit(texts(20))
    (layers,) = (v.vectors for v in tiny_elmo.encode_tokens(["the film was good"], layers="all"))
    h = torch.from_numpy(layers)[:, None].double()
    mask = torch.ones(1, h.shape[2], dtype=torch.bool)
    mix = model.mix.double()
    mix.zero_grad()
    upstream = torch.randn(1, h.shape[2], h.shape[3], dtype=torch.float64)
    (mix(h, mask) * upstream).sum().backward()
    s, gamma = mix.s.detach(), mix.gamma.detach()
    by_layer = (h * upstream).sum(dim=(1, 2, 3))
    torch.testing.assert_close(mix.gamma.grad, (s * by_layer).sum())
    torch.testing.assert_close(mix.w.grad, gamma * s * (by_layer - (s * by_layer).sum()))


def test_all_inputs_together_saved_and_loaded(
    tiny_elmo: Elmo, static: StaticVectors, tmp_path: Path
) -> None:
    def given(scale: float = 1.0) -> list[Any]:
        return [
            ElmoInput(tiny_elmo, layers="expected", dropout=0.1),
            CharInput(5),
            static,
            VectorInput(Lengths(scale), where="both"),
        ]

    model = Classifier(tiny_elmo, static, inputs=given(), **SMALL).fit(texts(40), dev=texts(9, 2))
    tokens: Any = model.network_.tokens
    # static, ELMo, expected, characters, static again, the encoder
    assert tokens.dim == static.dim + tiny_elmo.dim + tiny_elmo.dim // 2 + 5 + static.dim + 3
    assert tokens.output_dim == 3
    assert list(model.mixes) == ["input", "input, elmo 1", "input, vectors 4", "output, vectors 4"]
    assert all(mix.gamma.item() != 1.0 for mix in model.mixes.values())
    static.source = "here"
    model.save(tmp_path / "task")
    with pytest.raises(ConfigError, match=r"inputs\[3\] of .* is an object that is not saved with"):
        Classifier.load(tmp_path / "task", elmo=tiny_elmo, static=static)
    with pytest.raises(ConfigError, match="with the inputs elmo, chars, static, vectors; give"):
        Classifier.load(tmp_path / "task", elmo=tiny_elmo, static=static, inputs=[])
    for wrong, message in (
        ([*given()[:3], VectorInput(Lengths(2.0), where="both")], r"other inputs\[3\] vectors"),
        ([given()[0], CharInput(6), *given()[2:]], r"inputs\[1\] has the options"),
    ):
        with pytest.raises(ElmoreError, match=message):
            Classifier.load(tmp_path / "task", elmo=tiny_elmo, static=static, inputs=wrong)
    loaded = Classifier.load(tmp_path / "task", elmo=tiny_elmo, static=static, inputs=given())
    test = texts(9, 3).X
    np.testing.assert_array_equal(loaded.predict_proba(test), model.predict_proba(test))


def test_inputs_with_files_are_found_again(tiny_model: Path, tmp_path: Path) -> None:
    words, path = ["good", "bad"], tmp_path / "vectors.txt"
    StaticVectors(words, np.eye(2, dtype=np.float32)).write_text(path)
    inputs = [f"static:{path}", f"elmo:{tiny_model},layers=0,dropout=0.2", "chars:4"]
    settings = SMALL | {"tokenizer": "whitespace", "n_epochs": 1}
    model = Classifier(None, inputs=inputs, **settings).fit(texts(20))
    assert list(model.mixes) == ["input, elmo 2"]
    model.save(tmp_path / "task")
    loaded = Classifier.load(tmp_path / "task")
    np.testing.assert_array_equal(
        loaded.predict_proba(["good film"]), model.predict_proba(["good film"])
    )
    path.unlink()
    with pytest.raises(ElmoreError, match=r"vectors\.txt"):
        Classifier.load(tmp_path / "task")


def test_an_encoder_reads_each_sentence_once(tmp_path: Path) -> None:
    class Known(Lengths):
        def fingerprint(self) -> float:
            return self.scale

    encoder = Known()
    settings: dict[str, Any] = SMALL | {"tokenizer": "whitespace"}
    Classifier(None, inputs=[encoder], cache=tmp_path, **settings).fit(texts(20), dev=texts(9, 2))
    assert encoder.n_calls == 3  # its dimensions, the training set, the dev set
    Classifier(None, inputs=[encoder], cache=tmp_path, **settings).fit(texts(20), dev=texts(9, 2))
    assert encoder.n_calls == 4
    other = Known(2.0)  # other vectors are not taken from the cache
    Classifier(None, inputs=[other], cache=tmp_path, **settings).fit(texts(20), dev=texts(9, 2))
    assert other.n_calls == 3
    nameless = Lengths()  # nor are those of one that may be any
    for _ in range(2):
        Classifier(None, inputs=[nameless], cache=tmp_path, **settings).fit(
            texts(20), dev=texts(9, 2)
        )
    assert nameless.n_calls == 6
    assert len(list(tmp_path.glob("*.npy"))) == 4


def test_scikit_learn_and_comparisons(
    tiny_elmo: Elmo, static: StaticVectors, tmp_path: Path
) -> None:
    model = Tagger(tiny_elmo, static, inputs=[CharInput(3), Lengths()], **SMALL | {"n_epochs": 1})
    encoder = model.inputs[1]
    copy = clone(Tagger(tiny_elmo, inputs=(VectorInput(encoder),)))
    assert copy.inputs[0].source is encoder
    runs = compare(
        model, sentences(20), sentences(9, 2), tmp_path / "out",
        variants=["static", "static+elmo"], n_seeds=1,
    )  # fmt: skip
    assert [list(run.mixes) for run in runs] == [
        ["input, vectors 2"], ["input", "input, vectors 2"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("glove.txt", "expected static:FILE, elmo:MODEL or chars:FILTERS"),
        ("static:", "expected static:FILE"),
        ("chars:many", "n_filters is 'many'"),
        ("chars:0", "n_filters is 0; expected a whole number, at least 1"),
        ("elmo:en,colour=red", "has the option 'colour'; expected context_layer, dropout, freeze"),
        ("elmo:en,dropout=2", "dropout is 2.0; expected a number from 0"),
        ("elmo:en,where=above", "where is 'above'"),
        ("elmo:en,layers=expected,freeze=false", "which is of a frozen biLM only"),
        (3, "expected a string such as elmo:en,layers=expected"),
    ],
)
def test_inputs_that_cannot_be(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        input_of(given)
    with pytest.raises(ConfigError, match=message):
        Classifier(None, inputs=[given]).fit(["a"], ["b"])


def test_strings() -> None:
    assert input_of("chars:7") == CharInput(7)
    assert input_of("static:a/b.txt") == StaticInput("a/b.txt")
    assert input_of("elmo:hf://x/y,layers=1,where=both,norm=token") == ElmoInput(
        "hf://x/y", where="both", layers=1, norm="token"
    )
    with pytest.raises(ConfigError, match="expected a list of inputs"):
        Classifier(None, inputs="chars:7").fit(["a"], ["b"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda given: [np.zeros((len(tokens), 3, 1)) for tokens in given],
        lambda given: [np.zeros((len(tokens) + 1, 3)) for tokens in given],
        lambda given: [np.zeros((len(tokens), 3), int) for tokens in given],
        lambda given: [np.zeros((len(tokens), 3 if "은행" in tokens else 1)) for tokens in given],
        lambda given: [],
    ],
)
def test_an_encoder_that_gives_something_else(wrong: Any) -> None:
    encoder = Lengths()
    encoder.encode_tokens = wrong  # type: ignore[method-assign]
    with pytest.raises(DataError, match="encode_tokens of Lengths gave"):
        Classifier(None, inputs=[encoder], **SMALL).fit(texts(9))


def test_one_layer_is_saved_and_loaded(tiny_elmo: Elmo, tmp_path: Path) -> None:
    """The weights of its other layers are 0, whose logarithm is no finite number."""
    model = Classifier(tiny_elmo, layers="top", **SMALL | {"n_epochs": 1}).fit(texts(20))
    model.save(tmp_path / "task")
    loaded = Classifier.load(tmp_path / "task", elmo=tiny_elmo)
    assert loaded.mix.weights() == model.mix.weights()


def test_a_bilm_that_is_fine_tuned_is_no_other_input(tiny_elmo: Elmo) -> None:
    with pytest.raises(ConfigError, match="inputs has the Elmo that is fine-tuned"):
        Classifier(tiny_elmo, freeze=False, inputs=[tiny_elmo], **SMALL).fit(texts(9))


@pytest.mark.parametrize("context_layer", [False, True])
def test_texts_of_several_sentences_frozen_or_not(*, tiny_elmo: Elmo, context_layer: bool) -> None:
    """The biLM reads sentence by sentence, whether its layers are stored or computed."""
    sentences = [("the", "film", "was", "good"), ("a", "film"), ("bad",)]
    found = []
    for freeze in (True, False):
        item = ElmoInput(tiny_elmo, context_layer=context_layer, freeze=freeze, dropout=0.0)
        stored = StoredSentences(sentences, [item.store(sentences, Storage(None, "float32"))])
        batch = stored.batch([[1, 2], [0], [2, 2, 1]])
        network = item.network()
        with torch.no_grad():
            found.append(network(batch.values[0], batch)["input"])
        tiny_elmo.bilm.requires_grad_(False)
    assert found[0].shape == (3, 4, tiny_elmo.dim)
    torch.testing.assert_close(found[0], found[1], atol=1e-5, rtol=0)
    torch.testing.assert_close(found[0][0, 2], found[0][2, 0])  # the same sentence, alone
    assert (found[0][0, 3] == 0).all()
