"""One scorer of words: equal to the softmax written out, however many logits are made at once."""

import pytest
import torch
from torch.nn.functional import log_softmax

from elmore.engine.word_scorer import word_log_probs
from elmore.model.softmax import Softmax

N_WORDS, DIM = 7, 3


def expected(softmax: Softmax, state: torch.Tensor, word: int) -> float:
    return float(log_softmax(softmax.weight @ state + softmax.bias, dim=0)[word])


@pytest.mark.parametrize("max_logits", [1, 2 * N_WORDS, 2**22])
@torch.no_grad()
def test_states_beside_a_word_predict_it(max_logits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmore.engine.word_scorer.MAX_LOGITS", max_logits)
    torch.manual_seed(0)
    softmax, top = Softmax(N_WORDS, DIM), torch.randn(6, 2 * DIM)
    word_ids = torch.tensor([0, 3, 1, 0, 5, 1])  # two sentences of two and one words
    first = torch.tensor([True, False, False, True, False, False])
    found = word_log_probs(softmax, top, word_ids, forward=~first, backward=~first.roll(-1))
    forward = [expected(softmax, top[k - 1, :DIM], int(word_ids[k])) for k in (1, 2, 4, 5)]
    backward = [expected(softmax, top[k + 1, DIM:], int(word_ids[k])) for k in (0, 1, 3, 4)]
    assert found.forward.tolist() == pytest.approx(forward, abs=1e-6)
    assert found.backward.tolist() == pytest.approx(backward, abs=1e-6)


@torch.no_grad()
def test_a_sentence_without_words() -> None:
    softmax, words = Softmax(N_WORDS, DIM), slice(1, -1)
    found = word_log_probs(
        softmax, torch.randn(2, 2 * DIM), torch.tensor([0, 1]), forward=words, backward=words
    )
    assert found.forward.shape == found.backward.shape == (0,)
