"""The textbook network behind the engine's interface."""

import numpy as np
import pytest

from elmore.model import textbook
from elmore.model.textbook import TextbookNetwork
from tests.engine.networks import ENCODERS, random_bilm, random_ids, random_sentences


@pytest.mark.parametrize("n_steps", [1, 7, 30])
def test_a_long_batch_in_pieces_equals_the_whole(
    n_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bilm = random_bilm(ENCODERS["characters"])
    network, sentences = TextbookNetwork(bilm), random_sentences(20, [40, 31, 30, 7, 1])
    vectors = network.token_vectors(random_ids(bilm.config.token_encoder, 20))
    first = network.read(vectors, sentences)
    second = network.read(vectors, sentences, first.state)
    assert np.abs(second.layers - first.layers).max() > 1e-3
    monkeypatch.setattr(textbook, "_MAX_STEPS", n_steps)
    for state, whole in ((None, first), (first.state, second)):
        pieces = network.read(vectors, sentences, state)
        np.testing.assert_allclose(pieces.layers, whole.layers, atol=2e-6)
        for side in ("forward", "backward"):
            one, other = getattr(pieces.state, side), getattr(whole.state, side)
            np.testing.assert_allclose(one.h, other.h, atol=2e-6)
            np.testing.assert_allclose(one.c, other.c, atol=2e-6)


def test_words_are_encoded_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    bilm = random_bilm(ENCODERS["characters and words"])
    network, ids = TextbookNetwork(bilm), random_ids(bilm.config.token_encoder, 20)
    together = network.token_vectors(ids)
    monkeypatch.setattr(textbook, "_MAX_WORDS", 3)
    np.testing.assert_allclose(network.token_vectors(ids), together, atol=2e-6)
    assert network.token_vectors(ids[:0]).shape == (0, 6)
