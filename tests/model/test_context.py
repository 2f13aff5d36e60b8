"""The states that predict each word: which they are, and that they have not read it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from elmore import Elmo, ElmoLayer, ScalarMix
from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig
from elmore.errors import ConfigError
from elmore.formats import Pretrained
from elmore.model.bilm import BiLM
from elmore.text import Vocab

WORDS = ["<S>", "</S>", "<UNK>", "the", "bank", "river", "은행", "a", "."]
TEXTS = ["the river bank of a river .", "", "은행 계좌", "bank", "a a a"]


def scoring_model() -> Pretrained:
    """A random model with a softmax, whose clips bite."""
    torch.manual_seed(3)
    config = BiLMConfig(
        TokenEncoderConfig(
            CharCnnConfig(4, ((1, 5), (2, 6)), n_highway=1, activation="relu", max_characters=12)
        ),
        LstmConfig(2, cell_dim=10, projection_dim=6, cell_clip=0.5, projection_clip=0.3),
        n_softmax_words=len(WORDS),
    )
    bilm = BiLM(config).requires_grad_(False)
    with torch.no_grad():
        for parameter in bilm.parameters():
            parameter.mul_(1.5)
    return Pretrained(bilm.config, bilm.arrays, "whitespace", Vocab(WORDS))


@pytest.mark.parametrize("engine", ["fast", "textbook"])
def test_their_softmax_is_what_scores_says(engine: Any) -> None:
    model = scoring_model()
    assert model.vocab is not None
    softmax = BiLM.from_arrays(model.config, model.arrays).softmax
    assert softmax is not None
    elmo = Elmo(model, engine=engine)
    for scores, context in zip(
        elmo.scores(TEXTS), elmo.encode_tokens(TEXTS, layers="context", output="torch"), strict=True
    ):
        rows = torch.from_numpy(model.vocab.encode(scores.tokens))
        for said, states in zip(
            (scores.forward, scores.backward), context.vectors.chunk(2, dim=1), strict=True
        ):
            logits = states @ softmax.weight.T + softmax.bias
            found = log_softmax(logits, dim=1).gather(1, rows[:, None])[:, 0]
            np.testing.assert_allclose(said, found, atol=1e-5)


@pytest.mark.parametrize("engine", ["fast", "textbook"])
@pytest.mark.parametrize("place", [0, 1, 4, 6])
def test_nothing_of_the_word_leaks_in(engine: Any, place: int) -> None:
    elmo = Elmo(scoring_model(), engine=engine)
    text = ["the", "river", "bank", "of", "a", "long", "."]
    other = [*text[:place], "quite-another", *text[place + 1 :]]
    layers = ["expected", "context", "top"]
    (one,) = elmo.encode_tokens([text], layers=layers)
    (changed,) = elmo.encode_tokens([other], layers=layers)
    for layer in ("expected", "context"):
        np.testing.assert_array_equal(one.vectors[layer][place], changed.vectors[layer][place])
        if place:  # the neighbour has read the word
            differences = one.vectors[layer][place - 1] - changed.vectors[layer][place - 1]
            assert np.abs(differences).max() > 1e-4
    assert np.abs(one.vectors["top"][place] - changed.vectors["top"][place]).max() > 1e-4


def test_both_engines_give_the_same() -> None:
    model = scoring_model()
    for layer in ("expected", "context"):
        fast, textbook = (
            Elmo(model, engine=engine).encode_tokens(TEXTS, layers=layer)  # type: ignore[arg-type]
            for engine in ("fast", "textbook")
        )
        for one, other in zip(fast, textbook, strict=True):
            np.testing.assert_allclose(one.vectors, other.vectors, atol=5e-6)


def test_states_at_the_edges(tiny_elmo: Elmo) -> None:
    half = tiny_elmo.dim // 2
    tops = tiny_elmo.encode_tokens(TEXTS, layers="top", keep_sentence_marks=True)
    contexts = tiny_elmo.encode_tokens(TEXTS, layers="context")
    sums = tiny_elmo.encode_tokens(TEXTS, layers="expected")
    for text, top, context, expected in zip(TEXTS, tops, contexts, sums, strict=True):
        n = len(text.split())
        assert context.vectors.shape == (n, tiny_elmo.dim)
        assert expected.vectors.shape == (n, half)
        for k in range(n):  # the first word comes after <S>, the last before </S>
            before, after = top.vectors[k, :half], top.vectors[k + 2, half:]
            np.testing.assert_array_equal(context.vectors[k], np.concatenate([before, after]))
            np.testing.assert_array_equal(expected.vectors[k], before + after)


def test_a_mark_has_zeros_where_there_is_nothing(tiny_elmo: Elmo) -> None:
    half = tiny_elmo.dim // 2
    marked = tiny_elmo.encode_tokens(TEXTS, layers="context", keep_sentence_marks=True)
    plain = tiny_elmo.encode_tokens(TEXTS, layers="context")
    tops = tiny_elmo.encode_tokens(TEXTS, layers="top", keep_sentence_marks=True)
    for one, other, top in zip(marked, plain, tops, strict=True):
        assert one.tokens == ("<S>", *other.tokens, "</S>")
        np.testing.assert_array_equal(one.vectors[1:-1], other.vectors)
        np.testing.assert_array_equal(one.vectors[0, :half], 0)
        np.testing.assert_array_equal(one.vectors[0, half:], top.vectors[1, half:])
        np.testing.assert_array_equal(one.vectors[-1, half:], 0)
        np.testing.assert_array_equal(one.vectors[-1, :half], top.vectors[-2, :half])


@pytest.mark.parametrize("layer", ["expected", "context"])
def test_any_batch_gives_the_same(tiny_model: Path, layer: Any) -> None:
    small = Elmo.from_pretrained(tiny_model, tokenizer="whitespace", max_batch_tokens=5)
    large = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    texts = [*TEXTS, " ".join(f"w{k}" for k in range(40))]
    together = large.encode_tokens(texts, layers=layer)
    for elmo, order in ((small, 1), (small, -1), (large, -1)):
        found = elmo.encode_tokens(texts[::order], layers=layer)[::order]
        for one, other in zip(found, together, strict=True):
            np.testing.assert_array_equal(one.vectors, other.vectors)


def test_a_session_carries_its_state_into_them(tiny_elmo: Elmo) -> None:
    session, same = tiny_elmo.session(), tiny_elmo.session()
    half = tiny_elmo.dim // 2
    for text in ("a b", "a b", "bank"):
        (context,) = session.encode_tokens([text], layers="context")
        (top,) = same.encode_tokens([text], layers="top", keep_sentence_marks=True)
        np.testing.assert_array_equal(context.vectors[:, :half], top.vectors[:-2, :half])
        np.testing.assert_array_equal(context.vectors[:, half:], top.vectors[2:, half:])
    (alone,) = tiny_elmo.encode_tokens(["bank"], layers="context")
    assert np.abs(context.vectors - alone.vectors).max() > 1e-4


def test_pooled(tiny_elmo: Elmo) -> None:
    vectors = [text.vectors for text in tiny_elmo.encode_tokens(TEXTS, layers="expected")]
    pooled = tiny_elmo.encode(TEXTS, layers="expected")
    assert pooled.shape == (len(TEXTS), tiny_elmo.dim // 2)
    for one, found in zip(vectors, pooled, strict=True):
        np.testing.assert_allclose(found, one.mean(axis=0) if len(one) else 0, atol=1e-6)


def test_several_layers_of_one_reading(tiny_elmo: Elmo) -> None:
    asked: list[Any] = [0, "top", "expected", "mix", "all"]
    several = tiny_elmo.encode_tokens(TEXTS, layers=asked)
    for layer in asked:
        for one, text in zip(tiny_elmo.encode_tokens(TEXTS, layers=layer), several, strict=True):
            np.testing.assert_array_equal(one.vectors, text.vectors[layer])
    with pytest.raises(ConfigError, match="layers is 'middle'; expected mix, all, top, context"):
        tiny_elmo.encode_tokens(TEXTS, layers=["top", "middle"])  # type: ignore[list-item]


def test_the_representations_of_the_paper(tiny_elmo: Elmo) -> None:
    (text,) = tiny_elmo.encode_tokens(["the river bank"], layers="all")
    found = text.representations()
    names = ["token", "forward 1", "backward 1", "forward 2", "backward 2"]
    assert list(found) == names
    half = tiny_elmo.dim // 2
    np.testing.assert_array_equal(found["token"], tiny_elmo.word_vectors(["the", "river", "bank"]))
    np.testing.assert_array_equal(found["forward 2"], text.vectors[2, :, :half])
    np.testing.assert_array_equal(found["backward 1"], text.vectors[1, :, half:])
    assert all(np.shares_memory(view, text.vectors) for view in found.values())
    (top,) = tiny_elmo.encode_tokens(["the river bank"], layers="top")
    with pytest.raises(ConfigError, match='ask for layers="all"'):
        top.representations()


def test_as_one_more_layer_of_a_mix(tiny_model: Path) -> None:
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    weights = (0.1, 0.2, 0.3, 0.4)
    elmo.mix = ScalarMix(3, weights=weights, trainable=False, context_layer=True)
    layer = ElmoLayer(elmo.bilm, weights=weights, context_layer=True)
    assert list(layer.mixes[0].weights()) == ["layer 0", "layer 1", "layer 2", "context", "gamma"]  # type: ignore[operator, union-attr]
    for keep in (False, True):
        found = elmo.encode_tokens(TEXTS, layers=["all", "context"], keep_sentence_marks=keep)
        mixed = elmo.encode_tokens(TEXTS, keep_sentence_marks=keep)
        layer.keep_sentence_marks = keep
        batch = elmo.ids(TEXTS)
        output = layer(batch.ids, batch.mask)
        for row, (text, mix) in enumerate(zip(found, mixed, strict=True)):
            layers = np.concatenate([text.vectors["all"], text.vectors["context"][None]])
            wanted = np.einsum("l,ltd->td", weights, layers)
            np.testing.assert_allclose(mix.vectors, wanted, atol=5e-6)
            from_layer = output.mixes[0][row][output.mask[row]].detach().numpy()
            np.testing.assert_allclose(from_layer, wanted, atol=5e-6)
    with pytest.raises(ConfigError, match="4 weights, for 3 layers"):
        elmo.mix = ScalarMix(4)
