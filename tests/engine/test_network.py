"""The network on kernels against the textbook one, and to the bit against itself."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.bilm_config import CharCnnConfig, LstmConfig, Precision, TokenEncoderConfig
from elmore.engine import parallel
from elmore.engine.network import BiLMState, Network, Sentences
from elmore.errors import DataError
from elmore.kernels.library import available_variants, kernels
from elmore.model.textbook import TextbookNetwork
from tests.engine.networks import (
    ENCODERS,
    LARGE,
    LSTM,
    arrays_of,
    random_bilm,
    random_ids,
    random_sentences,
)

LSTMS = [
    LSTM,
    LstmConfig(3, 6, 6, 0.1, None, False),
    LstmConfig(1, 33, 17, None, 0.2, True, 0.0),
    LstmConfig(2, 8, 8, always_project=True),
]


def close(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found, expected, atol=2e-6, rtol=0)


@pytest.mark.parametrize("lstm", LSTMS)
@pytest.mark.parametrize("lengths", [[1], [9], [40, 7, 7, 3, 1], [3] * 400])
def test_equals_the_textbook(threads: int, lstm: LstmConfig, lengths: list[int]) -> None:
    bilm = random_bilm(ENCODERS["characters"], lstm)
    fast, textbook = Network(bilm.config, arrays_of(bilm)), TextbookNetwork(bilm)
    ids = random_ids(bilm.config.token_encoder, 60)
    vectors = textbook.token_vectors(ids)
    close(fast.token_vectors(ids), vectors)
    sentences = random_sentences(60, lengths)
    found, expected = fast.read(vectors, sentences), textbook.read(vectors, sentences)
    for _ in range(2):  # from zero, then from the state that was left
        close(found.layers, expected.layers)
        for side in ("forward", "backward"):
            one, other = getattr(found.state, side), getattr(expected.state, side)
            close(one.h, other.h)
            close(one.c, other.c)
        state = expected.state
        found = fast.read(vectors, sentences, state)
        expected = textbook.read(vectors, sentences, state)


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
@pytest.mark.parametrize("n_words", [0, 1, 300])
def test_every_token_encoder(threads: int, encoder: TokenEncoderConfig, n_words: int) -> None:
    bilm = random_bilm(encoder)
    ids = random_ids(encoder, n_words)
    found = Network(bilm.config, arrays_of(bilm)).token_vectors(ids)
    assert found.shape == (n_words, 6)
    if n_words:
        close(found, TextbookNetwork(bilm).token_vectors(ids))


def test_float16_weights_give_the_bits_of_the_same_numbers_in_float32() -> None:
    bilm = random_bilm(ENCODERS["characters and words"])
    halves = arrays_of(bilm, np.float16)
    full = {name: array.astype(np.float32) for name, array in halves.items()}
    ids, sentences = random_ids(bilm.config.token_encoder, 50), random_sentences(50, [30] * 40)
    one, other = Network(bilm.config, halves), Network(bilm.config, full)
    np.testing.assert_array_equal(one.token_vectors(ids), other.token_vectors(ids))
    vectors = other.token_vectors(ids)
    np.testing.assert_array_equal(
        one.read(vectors, sentences).layers, other.read(vectors, sentences).layers
    )


def test_bfloat16_is_close_and_does_not_depend_on_the_batch() -> None:
    bilm = random_bilm(ENCODERS["characters"])
    network = Network(bilm.config, arrays_of(bilm), "bfloat16")
    ids, sentences = random_ids(bilm.config.token_encoder, 50), random_sentences(50, [9] * 40)
    vectors = network.token_vectors(ids)
    exact = Network(bilm.config, arrays_of(bilm))
    np.testing.assert_allclose(vectors, exact.token_vectors(ids), atol=0.2)
    layers = network.read(vectors, sentences).layers
    alone = Sentences(sentences.words[9:18], sentences.lengths[:1])
    np.testing.assert_array_equal(network.read(vectors, alone).layers, layers[:, 9:18])
    np.testing.assert_array_equal(network.token_vectors(ids[7:8]), vectors[7:8])


def of_variant(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMORE_KERNELS", name)
        kernels.cache_clear()
        kernels()


@pytest.fixture
def variants() -> Iterator[list[str]]:
    """The processor's instruction sets; the test may choose among them."""
    yield available_variants()
    kernels.cache_clear()


@settings(deadline=None, max_examples=80)
@given(
    encoder=st.sampled_from(list(ENCODERS)),
    lstm=st.builds(
        LstmConfig,
        n_layers=st.integers(1, 3),
        cell_dim=st.integers(20, 40),
        projection_dim=st.just(6),
        cell_clip=st.sampled_from([None, 0.3]),
        projection_clip=st.sampled_from([None, 0.2]),
        skip_connections=st.booleans(),
    ),
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=30),
    n_words=st.integers(1, 40),
    n_threads=st.sampled_from([1, 2, 4, 8]),
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_the_same_bits_alone_in_any_batch_on_any_threads_and_processor(
    encoder: str, lstm: LstmConfig, lengths: list[int], n_words: int, n_threads: int, seed: int,
    data: st.DataObject,
) -> None:  # fmt: skip
    variants = available_variants()
    before = parallel.n_threads()
    try:
        bilm = random_bilm(ENCODERS[encoder], lstm, seed)
        arrays, ids = arrays_of(bilm), random_ids(ENCODERS[encoder], n_words, seed)
        sentences = random_sentences(n_words, lengths, seed)
        of_variant(data.draw(st.sampled_from(variants)))
        parallel.set_n_threads(n_threads)
        network = Network(bilm.config, arrays)
        vectors = network.token_vectors(ids)
        found = network.read(vectors, sentences)
        of_variant(data.draw(st.sampled_from(variants)))
        parallel.set_n_threads(1)
        network = Network(bilm.config, arrays)
        start = 0
        for row, length in enumerate(sentences.lengths.tolist()):
            words = sentences.words[start : start + length]
            distinct, places = np.unique(words, return_inverse=True)
            alone = network.read(
                network.token_vectors(ids[distinct]),
                Sentences(places.astype(np.int32), np.array([length])),
            )
            np.testing.assert_array_equal(alone.layers, found.layers[:, start : start + length])
            np.testing.assert_array_equal(
                alone.state.forward.c[:, 0], found.state.forward.c[:, row]
            )
            np.testing.assert_array_equal(
                alone.state.backward.h[:, 0], found.state.backward.h[:, row]
            )
            start += length
    finally:
        kernels.cache_clear()
        parallel.set_n_threads(before)


def test_a_state_that_is_read_from_is_not_changed() -> None:
    bilm = random_bilm(ENCODERS["characters"])
    network = Network(bilm.config, arrays_of(bilm))
    sentences = random_sentences(5, [5, 2])
    vectors = network.token_vectors(random_ids(bilm.config.token_encoder, 5))
    state = network.read(vectors, sentences).state
    kept = state.copy()
    network.read(vectors, sentences, state)
    np.testing.assert_array_equal(state.forward.h, kept.forward.h)
    np.testing.assert_array_equal(state.backward.c, kept.backward.c)


def test_several_callers_at_once(threads: int) -> None:
    bilm = random_bilm(ENCODERS["characters"])
    network = Network(bilm.config, arrays_of(bilm))
    ids = random_ids(bilm.config.token_encoder, 20)
    work = [random_sentences(20, [n, n // 2 + 1], seed=n) for n in range(1, 9)] * 4

    def read(sentences: Sentences) -> np.ndarray:
        return network.read(network.token_vectors(ids), sentences).layers

    expected = [read(sentences) for sentences in work]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(pool.map(read, work), expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_ids_that_the_model_does_not_have_are_refused() -> None:
    bilm = random_bilm(ENCODERS["characters and words"])
    network = Network(bilm.config, arrays_of(bilm))
    ids = random_ids(bilm.config.token_encoder, 3)
    for place, wrong in [((1, 4), 262), ((1, 4), -1), ((2, -1), 10), ((2, -1), -1)]:
        bad = ids.copy()
        bad[place] = wrong
        with pytest.raises(DataError, match=f"{wrong}"):
            network.token_vectors(bad)
    with pytest.raises(DataError, match="21"):
        network.token_vectors(ids[:, 1:])


def test_a_large_alphabet_makes_tables_of_the_characters_of_a_call(threads: int) -> None:
    bilm = random_bilm(TokenEncoderConfig(LARGE, None, "concat"))
    ids = random_ids(bilm.config.token_encoder, 700)
    found = Network(bilm.config, arrays_of(bilm)).token_vectors(ids)
    close(found, TextbookNetwork(bilm).token_vectors(ids))


LIMITS = {
    "one of everything": (CharCnnConfig(1, ((1, 1),), 1, "relu", 3), LstmConfig(1, 1, 1)),
    "filters as wide as a word": (CharCnnConfig(3, ((3, 16), (3, 17)), 0, "tanh", 3), LSTM),
    "whole panels": (CharCnnConfig(64, ((7, 64),), 1, "relu", 7), LstmConfig(1, 64, 64)),
    "deeper than a block": (CharCnnConfig(2, ((2, 257),), 1, "relu", 5), LstmConfig(2, 290, 259)),
    "one character": (CharCnnConfig(2, ((2, 3),), 0, "relu", 5, "alphabet", 1), LSTM),
}


@pytest.mark.parametrize(("chars", "lstm"), LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_shapes_at_the_edges(chars: CharCnnConfig, lstm: LstmConfig, precision: Precision) -> None:
    bilm = random_bilm(TokenEncoderConfig(chars), lstm)
    for weight in bilm.parameters():
        weight.clamp_(-0.3, 0.3)
    network, textbook = Network(bilm.config, arrays_of(bilm), precision), TextbookNetwork(bilm)
    ids = random_ids(bilm.config.token_encoder, 60)
    ids[0] = 0
    vectors, sentences = network.token_vectors(ids), random_sentences(60, [9, 2] * 30)
    layers = network.read(vectors, sentences).layers
    atol = 1e-5 if precision == "float32" else 0.1
    np.testing.assert_allclose(vectors, textbook.token_vectors(ids), atol=atol)
    np.testing.assert_allclose(layers, textbook.read(vectors, sentences).layers, atol=atol)


def test_zero_states() -> None:
    state = BiLMState.zero(LSTM, 3)
    assert state.forward.h.shape == (2, 3, 6)
    assert state.backward.c.shape == (2, 3, 12)
