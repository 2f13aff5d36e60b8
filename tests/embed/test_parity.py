"""Equal to the original code's own vectors, and to the equations written out in NumPy."""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from elmore import Elmo
from elmore.formats import write_word_vectors
from tests.oracle.elmo import Oracle, random_model, random_word_model, write_model

TEXTS = [
    ["The", "bank", "of", "the", "river", "."],
    ["은행", "계좌", "를", "만들었다"],
    [],
    ["", "a" * 70, "\0", "👩‍👩‍👧", "<S>", "مرحبا", "e\u0301", "bank"],
    ["bank"],
]

# One small shape; each case below changes what it is about.
SHAPE: dict[str, Any] = {
    "n_layers": 2,
    "dim": 14,
    "projection_dim": 7,
    "skip": True,
    "cell_clip": 0.4,
    "proj_clip": 0.3,
    "activation": "relu",
    "n_highway": 1,
    "filters": [[1, 3], [2, 4], [4, 5]],
    "char_dim": 4,
}
CASES: dict[str, dict[str, Any]] = {
    "base": {},
    "no skip": {"skip": False},
    "one layer": {"n_layers": 1},
    "three layers": {"n_layers": 3},
    "three layers, no skip, no clips": {
        "n_layers": 3,
        "skip": False,
        "cell_clip": None,
        "proj_clip": None,
    },
    "published clips": {"cell_clip": 3, "proj_clip": 3},
    "tanh": {"activation": "tanh"},
    "no highway": {"n_highway": 0},
    "three highways, tanh": {"n_highway": 3, "activation": "tanh"},
    "F == p": {"filters": [[1, 3], [3, 4]]},
    "dim == projection_dim": {"dim": 7},
    "F == p == dim": {"dim": 7, "filters": [[2, 7]], "n_highway": 2},
    "short words": {"max_characters": 8},
    "one character wide": {"filters": [[1, 2]], "n_layers": 1},
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engine", ["fast", "textbook"])
def test_agrees_with_the_oracle(tmp_path: Path, engine: Any, case: str, seed: int) -> None:
    options, weights = random_model(seed, **(SHAPE | CASES[case]))
    write_model(tmp_path / "model", options, weights)
    oracle = Oracle(options, weights)
    elmo = Elmo.from_pretrained(tmp_path / "model", engine=engine)
    found = elmo.encode_tokens(TEXTS, layers="all", keep_sentence_marks=True)
    for text, vectors in zip(TEXTS, found, strict=True):
        expected, _ = oracle.layers(text)
        np.testing.assert_allclose(vectors.vectors, expected, atol=1e-5, rtol=0)


def test_a_word_table_agrees_with_the_oracle(tmp_path: Path) -> None:
    vocab = ["bank", "<S>", "</S>", "<UNK>", "the", "river"]  # row 0 is a word like any other
    lstm = {key: SHAPE[key] for key in
            ("n_layers", "dim", "projection_dim", "skip", "cell_clip", "proj_clip")}  # fmt: skip
    options, weights = random_word_model(3, n_words=len(vocab), **lstm)
    write_model(tmp_path / "model", options, weights)
    (tmp_path / "model/vocab.txt").write_text("\n".join(vocab) + "\n")
    text = ["the", "bank", "by", "the", "river"]
    (found,) = Elmo.from_pretrained(tmp_path / "model").encode_tokens([text], layers="all")
    expected, _ = Oracle(options, weights, vocab).layers(text)
    np.testing.assert_allclose(found.vectors, expected[:, 1:-1], atol=1e-5, rtol=0)


@pytest.mark.parametrize("engine", ["fast", "textbook"])
def test_a_session_carries_state_as_the_oracle_does(
    tiny_weights: Any, tiny_model: Path, engine: Any
) -> None:
    oracle = Oracle(*tiny_weights)
    elmo = Elmo.from_pretrained(tiny_model, engine=engine)
    batches = [
        [["one", "two", "three"], ["a"], ["x", "y"]],
        [["four"]],  # rows 1 and 2 keep their state
        [["five", "six"], ["b", "c", "d", "e"], ["z"], ["new", "row"]],
    ]
    session = elmo.session()
    states: dict[int, Any] = {}
    for batch in batches:
        found = session.encode_tokens(batch, layers="all")
        for row, text in enumerate(batch):
            expected, states[row] = oracle.layers(text, states.get(row))
            np.testing.assert_allclose(found[row].vectors, expected[:, 1:-1], atol=1e-5, rtol=0)
    session.reset()
    again = session.encode_tokens(batches[0], layers="all")
    fresh = elmo.encode_tokens(batches[0], layers="all")
    assert all(np.array_equal(a.vectors, b.vectors) for a, b in zip(again, fresh, strict=True))


@pytest.mark.parametrize("engine", ["fast", "textbook"])
def test_golden_vectors_by_characters(golden: Path, engine: Any, threads: int) -> None:
    _check_golden(golden, Elmo.from_pretrained(golden, engine=engine))


def test_golden_vectors_by_cached_words(golden: Path, tmp_path: Path) -> None:
    by_characters = Elmo.from_pretrained(golden)
    vocab = by_characters.model.vocab
    assert vocab is not None
    vectors = by_characters.word_vectors(vocab.words)
    write_word_vectors(tmp_path / "words.hdf5", vectors)
    _check_golden(golden, Elmo.from_pretrained(golden, word_vectors=tmp_path / "words.hdf5"))


def test_cached_vectors_are_used_and_other_words_are_spelled(golden: Path, tmp_path: Path) -> None:
    elmo = Elmo.from_pretrained(golden)
    assert elmo.model.vocab is not None
    write_word_vectors(tmp_path / "words.hdf5", elmo.word_vectors(elmo.model.vocab.words) + 1)
    cached = Elmo.from_pretrained(golden, word_vectors=tmp_path / "words.hdf5")
    known, unseen = elmo.model.vocab.words[0], "unseen-word"
    before, after = (e.word_vectors([known, unseen]) for e in (elmo, cached))
    np.testing.assert_allclose(after[0], before[0] + 1, atol=1e-6)
    np.testing.assert_allclose(after[1], before[1], atol=1e-6)


def _check_golden(folder: Path, elmo: Elmo) -> None:
    streams = json.loads((folder / "lm_embeddings_sentences.json").read_text())
    session = elmo.session()
    for number in range(len(streams[0])):
        found = session.encode_tokens([stream[number].split() for stream in streams], layers="top")
        for row, text in enumerate(found):
            with h5py.File(folder / f"lm_embeddings_{row}.hdf5") as file:
                expected = np.concatenate(list(file[str(number)][...]), axis=1)
            np.testing.assert_allclose(text.vectors, expected, atol=1e-5, rtol=0)
