"""The fast engine against the textbook one: same vectors, same state, whatever the threads."""

import concurrent.futures
from dataclasses import replace

import pytest
import torch

from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.engine import FastEngine, PackedSentences, TextbookEngine
from elmore.model.bilm import BiLM

CNN = CharCnnConfig(5, ((1, 4), (2, 6), (7, 9)), n_highway=2, activation="relu", max_characters=20)


def batch(n_words: int, lengths: list[int]) -> tuple[torch.Tensor, PackedSentences]:
    """Rows of characters with padding (9) at the end of most, and sentences of these words."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, 9, (n_words, 20), generator=generator)
    written = torch.randint(0, 21, (n_words, 1), generator=generator)
    ids[torch.arange(20) >= written] = 9
    words = torch.randint(0, n_words, (sum(lengths),), generator=generator)
    return ids, PackedSentences(words, lengths)


@pytest.mark.parametrize("lstm", [LstmConfig(2, 12, 6), LstmConfig(3, 6, 6, 0.1, None, False)])
@pytest.mark.parametrize("lengths", [[1], [9], [40, 7, 7, 3, 1], [3] * 400])
def test_equals_the_textbook(threads: int, lstm: LstmConfig, lengths: list[int]) -> None:
    torch.manual_seed(0)
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(CNN), lstm)).requires_grad_(False)
    engines = (FastEngine(bilm), TextbookEngine(bilm, max_steps=10))
    ids, sentences = batch(60, lengths)
    fast_words, words = (engine.token_vectors(ids) for engine in engines)
    torch.testing.assert_close(fast_words, words, atol=1e-6, rtol=0)
    fast, textbook = (engine.read(words, sentences, None) for engine in engines)
    for _ in range(2):  # from zero, then from the state that was left
        torch.testing.assert_close(fast.layers, textbook.layers, atol=5e-6, rtol=0)
        for side in ("forward", "backward"):
            one, other = getattr(fast.state, side), getattr(textbook.state, side)
            torch.testing.assert_close(one.h, other.h, atol=5e-6, rtol=0)
            torch.testing.assert_close(one.c, other.c, atol=5e-6, rtol=0)
        fast, textbook = (engine.read(words, sentences, textbook.state) for engine in engines)


ALPHABET = replace(CNN, activation="tanh", char_encoding="alphabet", alphabet_size=60)
LARGE = replace(CNN, char_encoding="alphabet", alphabet_size=5000)


@pytest.mark.parametrize(
    ("words", "chars"),
    [
        (WordTableConfig(9, 7), ALPHABET),
        (WordTableConfig(9, 7), None),
        (None, ALPHABET),
        (None, LARGE),
    ],
)
@pytest.mark.parametrize("n_words", [1, 200])
def test_words_concatenated_with_characters(
    threads: int,
    words: WordTableConfig | None,
    chars: CharCnnConfig | None,
    n_words: int,
) -> None:
    torch.manual_seed(0)
    encoder = TokenEncoderConfig(chars, words, "concat")
    bilm = BiLM(BiLMConfig(encoder, LstmConfig(2, 12, 6, forget_bias=0.0))).requires_grad_(False)
    engines = (FastEngine(bilm), TextbookEngine(bilm, max_steps=10))
    ids, sentences = batch(n_words, [7, 3, 1])
    ids = ids[:, (0 if chars else 20) :]
    if chars is LARGE:
        ids = ids * 500 + torch.arange(n_words)[:, None]
    if words is not None:
        ids = torch.cat([ids, torch.arange(n_words)[:, None] % 10], dim=1)
    fast_words, token_vectors = (engine.token_vectors(ids) for engine in engines)
    torch.testing.assert_close(fast_words, token_vectors, atol=1e-6, rtol=0)
    fast, textbook = (engine.read(token_vectors, sentences, None) for engine in engines)
    torch.testing.assert_close(fast.layers, textbook.layers, atol=5e-6, rtol=0)


def test_a_state_that_is_read_from_is_not_changed() -> None:
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(CNN), LstmConfig(2, 12, 6))).requires_grad_(False)
    engine = FastEngine(bilm)
    ids, sentences = batch(10, [5, 2])
    words = engine.token_vectors(ids)
    state = engine.read(words, sentences, None).state
    kept = [tensor.clone() for tensor in (state.forward.h, state.forward.c, state.backward.c)]
    engine.read(words, sentences, state)
    for before, after in zip(
        kept, (state.forward.h, state.forward.c, state.backward.c), strict=True
    ):
        assert torch.equal(before, after)


def test_an_error_in_a_thread_reaches_the_caller(threads: int) -> None:
    engine = FastEngine(BiLM(BiLMConfig(TokenEncoderConfig(CNN), LstmConfig(1, 4, 2))))
    with pytest.raises(IndexError):
        engine.read(torch.zeros(1, 2), PackedSentences(torch.tensor([3]), [1]), None)


def test_several_callers_at_once(threads: int) -> None:
    torch.manual_seed(0)
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(CNN), LstmConfig(2, 12, 6))).requires_grad_(False)
    engine = FastEngine(bilm)
    work = [batch(20, [n, n // 2 + 1]) for n in range(1, 9)]
    expected = [engine.read(engine.token_vectors(ids), some, None).layers for ids, some in work]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda w: engine.read(engine.token_vectors(w[0]), w[1], None).layers, work)
        )
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=5e-6, rtol=0)


def test_inference_mode_of_the_caller(threads: int) -> None:
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(CNN), LstmConfig(2, 12, 6)))
    ids, sentences = batch(10, [5, 2])
    engine = FastEngine(bilm)
    with torch.inference_mode():
        inside = engine.read(engine.token_vectors(ids), sentences, None).layers
    outside = engine.read(engine.token_vectors(ids), sentences, None).layers
    assert torch.equal(inside, outside)
    assert not outside.requires_grad


def test_many_words_of_a_long_text_need_no_large_table(threads: int) -> None:
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(CNN), LstmConfig(1, 4, 2))).requires_grad_(False)
    ids, sentences = batch(2500, [4000, 10])  # more distinct words than gates are held for
    engines = (FastEngine(bilm), TextbookEngine(bilm, max_steps=4000))
    words = engines[0].token_vectors(ids)
    fast, textbook = (engine.read(words, sentences, None).layers for engine in engines)
    torch.testing.assert_close(fast, textbook, atol=5e-6, rtol=0)


def test_a_large_vocabulary_is_encoded_in_parts(threads: int) -> None:
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(CNN), LstmConfig(1, 4, 2))).requires_grad_(False)
    ids, _ = batch(9001, [1])
    words = FastEngine(bilm).token_vectors(ids)
    expected = TextbookEngine(bilm, max_steps=1).token_vectors(ids)
    torch.testing.assert_close(words, expected, atol=1e-6, rtol=0)


def test_threads_are_shared_out_and_not_multiplied() -> None:
    before = torch.get_num_threads()
    engine = FastEngine(BiLM(BiLMConfig(TokenEncoderConfig(CNN), LstmConfig(1, 4, 2))))
    seen: list[int] = []
    for n_threads in (1, 2, 4, 2):
        torch.set_num_threads(n_threads)
        engine._threads.both(lambda _: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == n_threads
    torch.set_num_threads(before)
    assert seen == [1, 1, 1, 1, 2, 2, 1, 1]
