"""Words are scored as by the softmax written out, however many logits are made at once."""

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from elmore.engine.network import Network
from elmore.engine.reader import Reader
from elmore.engine.softmax import Softmax
from elmore.engine.word_cache import WordCache
from elmore.engine.word_scorer import WordScorer
from elmore.text.id_encoder import IdEncoder
from elmore.text.vocab import Vocab
from tests.engine.networks import ENCODERS, arrays_of, random_bilm

WORDS = ["</S>", "<S>", "<UNK>", "the", "bank", "river"]
TEXTS = [["the", "bank"], [], ["the", "river", "bank", "overflowed"], ["bank"]]


def scorer() -> WordScorer:
    bilm = random_bilm(ENCODERS["characters"])
    rng = np.random.default_rng(0)
    arrays = arrays_of(bilm) | {
        "softmax.weight": rng.standard_normal((len(WORDS), 6)).astype(np.float32),
        "softmax.bias": rng.standard_normal(len(WORDS)).astype(np.float32),
    }
    reader = Reader(
        Network(bilm.config, arrays), IdEncoder(bilm.config.token_encoder), WordCache(6, 100)
    )
    made = WordScorer(reader, Softmax(arrays), Vocab(WORDS))
    made.arrays = arrays  # type: ignore[attr-defined]
    return made


@pytest.mark.parametrize("max_logits", [1, 2 * len(WORDS), 2**22])
def test_states_beside_a_word_predict_it(max_logits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmore.engine.softmax.MAX_LOGITS", max_logits)
    words = scorer()
    weight, bias = (
        torch.from_numpy(words.arrays[f"softmax.{name}"])  # type: ignore[attr-defined]
        for name in ("weight", "bias")
    )
    layers = dict(words.reader.read(TEXTS))
    found = dict(words.score(TEXTS))
    for number, text in enumerate(TEXTS):
        rows = [WORDS.index(w) if w in WORDS else 2 for w in ["<S>", *text, "</S>"]]
        top = torch.from_numpy(layers[number][-1])
        forward = [
            float(log_softmax(weight @ top[k - 1, :6] + bias, dim=0)[rows[k]])
            for k in range(1, len(rows))
        ]
        backward = [
            float(log_softmax(weight @ top[k + 1, 6:] + bias, dim=0)[rows[k]])
            for k in range(len(rows) - 1)
        ]
        assert found[number].forward.tolist() == pytest.approx(forward, abs=2e-6)
        assert found[number].backward.tolist() == pytest.approx(backward, abs=2e-6)
        assert found[number].words.tolist() == rows[1:-1]


def test_a_score_does_not_depend_on_other_texts() -> None:
    words = scorer()
    together = dict(words.score(TEXTS * 30))
    for number, text in enumerate(TEXTS):
        ((_, alone),) = words.score([text])
        np.testing.assert_array_equal(alone.forward, together[number + 56].forward)
        np.testing.assert_array_equal(alone.backward, together[number + 56].backward)
