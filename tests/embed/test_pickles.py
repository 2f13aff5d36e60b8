"""Pickles, copies and threads: one `Elmo` elsewhere gives the same vectors."""

import json
import multiprocessing
import pickle
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.errors import FormatError
from elmore.model.mix import ScalarMix
from elmore.text import Token

TEXTS = ["the bank of the river", "은행 의 돈", "a", "money in the bank"]


def other_weights(elmo: Elmo) -> Elmo:
    with torch.no_grad():
        elmo.bilm.token_encoder.char_cnn.embedding.weight += 1
    return elmo.with_bilm(elmo.bilm)


def vectors(elmo: Elmo, texts: list[str] = TEXTS) -> np.ndarray:
    return np.concatenate([text.vectors for text in elmo.encode_tokens(texts)])


class Commas:
    """A tokenizer of the user's own."""

    name = "commas"

    def __call__(self, text: str) -> list[Token]:
        """Split at commas."""
        return [Token(part, 0, 0) for part in text.split(",")]


@pytest.fixture
def folder(tiny_elmo: Elmo, tmp_path: Path) -> Path:
    tiny_elmo.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_from_a_folder_as_its_address(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    elmo = Elmo.from_pretrained(
        "model", tokenizer="whitespace", cache_words=7, engine="textbook", max_batch_tokens=99
    )
    elmo.mix = ScalarMix(3, weights=[0.2, 0.5, 0.3], gamma=1.5, norm="token", trainable=False)
    monkeypatch.chdir("/")
    content = pickle.dumps(elmo)
    assert len(content) < 2000
    found = pickle.loads(content)
    np.testing.assert_array_equal(vectors(found), vectors(elmo))
    assert found.fingerprint() == elmo.fingerprint()
    assert (found.source, found.tokenizer.name, found.cache.max_words) == ("model", "whitespace", 7)
    assert len(pickle.dumps(found)) < 2000
    shutil.rmtree(folder)
    other_weights(elmo).save_pretrained(folder)
    with pytest.raises(FormatError, match="holds other weights than when this Elmo was pickled"):
        pickle.loads(content)
    shutil.rmtree(folder)
    with pytest.raises(FormatError, match="there is no folder"):
        pickle.loads(content)


def test_the_bundled_model_as_its_name() -> None:
    elmo = Elmo.from_pretrained("en")
    content = pickle.dumps(elmo)
    assert len(content) < 2000
    np.testing.assert_array_equal(vectors(pickle.loads(content)), vectors(elmo))


@pytest.mark.parametrize("how", ["in memory", "changed", "changed unseen", "folder gone"])
def test_the_weights_where_no_address_has_them(folder: Path, how: str) -> None:
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace")
    if how == "in memory":
        elmo = Elmo(elmo.model, tokenizer="whitespace")
    elif how == "changed":
        with torch.no_grad():
            elmo.bilm.token_encoder.char_cnn.embedding.weight += 1
    elif how == "changed unseen":
        elmo.bilm.token_encoder.char_cnn.embedding.weight.data += 1
    else:
        shutil.rmtree(folder)
    found = pickle.loads(pickle.dumps(elmo))
    np.testing.assert_array_equal(vectors(found), vectors(elmo))
    assert found.model.fingerprint() == elmo.model.fingerprint()
    assert found.model.tokenizer == elmo.model.tokenizer
    np.testing.assert_array_equal(vectors(pickle.loads(pickle.dumps(found))), vectors(elmo))


def test_a_tokenizer_of_the_users_own(folder: Path) -> None:
    elmo = Elmo.from_pretrained(folder, tokenizer=Commas())
    found = pickle.loads(pickle.dumps(elmo))
    np.testing.assert_array_equal(vectors(found), vectors(elmo))
    assert found.encode_tokens(["a b,c"])[0].tokens == ("a b", "c")
    assert isinstance(deepcopy(elmo).tokenizer, Commas)


def test_a_copy_is_independent(folder: Path) -> None:
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace")
    elmo.mix = ScalarMix(3, weights=[0.2, 0.5, 0.3])
    before = vectors(elmo)
    made, same = deepcopy([elmo, elmo])
    assert made is same
    np.testing.assert_array_equal(vectors(made), before)
    made.mix = ScalarMix(3, weights=[0.2, 0.3, 0.5])
    made.cache.clear()
    assert not np.array_equal(vectors(made), before)
    np.testing.assert_array_equal(vectors(elmo), before)


def test_joblib(folder: Path) -> None:
    joblib = pytest.importorskip("joblib")
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace")
    with joblib.parallel_config("loky", n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(vectors)(elmo, [text]) for text in TEXTS)
    np.testing.assert_array_equal(np.concatenate(found), vectors(elmo))


@pytest.mark.parametrize("tokenizer", [None, "english", "korean-eojeol"])
def test_a_trained_task(folder: Path, tokenizer: str | None) -> None:
    tasks = pytest.importorskip("elmore.tasks")
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace")
    labels = ["x", "y"] * 2
    task = tasks.Classifier(elmo, tokenizer=tokenizer, hidden_dim=4, n_epochs=1)
    task.fit(TEXTS, labels, dev=(TEXTS, labels))
    found = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(found.predict_proba(TEXTS), task.predict_proba(TEXTS))


def _in_child(elmo: Elmo, answers: Any) -> None:
    answers.put(vectors(elmo))


def test_a_spawned_process(folder: Path) -> None:
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace")
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(elmo, answers))
    child.start()
    found = answers.get(timeout=120)
    child.join(60)
    np.testing.assert_array_equal(found, vectors(elmo))


class _Encoded(torch.utils.data.Dataset):
    def __init__(self, elmo: Elmo) -> None:
        self.elmo = elmo

    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, place: int) -> np.ndarray:
        return vectors(self.elmo, [TEXTS[place]])


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_of_a_data_loader(folder: Path, how: str) -> None:
    if how == "fork" and sys.platform == "win32":
        pytest.skip("Windows has no fork")
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace")
    loader = torch.utils.data.DataLoader(
        _Encoded(elmo), batch_size=None, num_workers=2, multiprocessing_context=how
    )
    found = np.concatenate([one.numpy() for one in loader])
    np.testing.assert_array_equal(found, vectors(elmo))


@pytest.mark.parametrize("cache_words", [65_536, 5])
def test_eight_threads(folder: Path, cache_words: int) -> None:
    """Identical where each word is cached; else its rounding is that of the words beside it."""
    elmo = Elmo.from_pretrained(folder, tokenizer="whitespace", cache_words=cache_words)
    expected = [vectors(elmo, [text]) for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda k: vectors(elmo, [TEXTS[k % 4]]), range(400)))
    for place, one in enumerate(found):
        np.testing.assert_allclose(
            one, expected[place % 4], rtol=0, atol=0 if cache_words > 5 else 5e-6
        )


def test_a_pickle_is_of_plain_data(folder: Path) -> None:
    """Beside `restore` and the class, it names nothing to be called."""
    from pickletools import genops

    content = pickle.dumps(Elmo(Elmo.from_pretrained(folder).model))
    strings = [arg for op, arg, _ in genops(content) if "UNICODE" in op.name]
    names = [op.name for op, _, _ in genops(content) if op.name in ("GLOBAL", "STACK_GLOBAL")]
    assert strings[:4] == ["elmore.embed.pickled", "restore", "elmore.embed.elmo", "Elmo"]
    assert names == ["STACK_GLOBAL"] * 2
    assert json.dumps(strings)
