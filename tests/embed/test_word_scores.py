"""Word scores are the log-probabilities of the full softmax."""

from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import FormatError
from tests.oracle.elmo import Oracle, random_model, write_model


def test_scores_agree_with_the_oracle(tmp_path: Path) -> None:
    options, weights = random_model(
        5, n_layers=2, dim=10, projection_dim=5, skip=True, cell_clip=0.5, proj_clip=0.5,
        activation="relu", n_highway=1, filters=[[1, 3], [2, 4]], char_dim=4,
    )  # fmt: skip
    vocab = ["<S>", "</S>", "<UNK>", "the", "bank", "river"]
    rng = np.random.default_rng(0)
    softmax = {
        "softmax/W": rng.normal(size=(6, 5)).astype(np.float32),
        "softmax/b": rng.normal(size=6).astype(np.float32),
    }
    write_model(tmp_path / "model", options, weights | softmax)
    (tmp_path / "model/vocab.txt").write_text("\n".join(vocab))
    elmo = Elmo.from_pretrained(tmp_path / "model", tokenizer="whitespace")
    texts = ["the river bank", "", "the unseen bank the the bank"]
    for text, found in zip(texts, elmo.scores(texts), strict=True):
        forward, backward = Oracle(options, weights).log_probs(
            text.split(), vocab, softmax["softmax/W"], softmax["softmax/b"]
        )
        np.testing.assert_allclose(found.forward, forward, atol=1e-5)
        np.testing.assert_allclose(found.backward, backward, atol=1e-5)
        assert found.known.tolist() == [word in vocab for word in text.split()]


def test_scores_need_the_softmax(tiny_elmo: Elmo) -> None:
    with pytest.raises(FormatError, match="without its softmax"):
        tiny_elmo.scores(["a"])
