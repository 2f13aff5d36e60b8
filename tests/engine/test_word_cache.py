"""The word cache: bounded, right after words were dropped, visible."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore import Elmo
from elmore.engine.word_cache import WordCache, WordVectors
from elmore.errors import ConfigError
from elmore.text import Vocab


def encode(words: list[str]) -> np.ndarray:
    return np.array([[len(word), ord(word[0])] for word in words], np.float32)


WORD = st.text("abcdefgh", min_size=1, max_size=2)


@settings(deadline=None)
@given(st.integers(0, 5), st.lists(st.lists(WORD, max_size=6, unique=True), max_size=12))
def test_any_size_gives_the_same_vectors(size: int, batches: list[list[str]]) -> None:
    fixed = WordVectors(Vocab(["a", "b"]), np.float32([[-1, -1], [-2, -2]]))
    cache = WordCache(2, size, fixed)
    for words in batches:
        found = cache.vectors(words, encode)
        for word, vector in zip(words, found, strict=True):
            expected = {"a": [-1, -1], "b": [-2, -2]}.get(word) or encode([word])[0].tolist()
            assert vector.tolist() == expected
        assert len(cache) <= size + 2


def test_counts_what_it_had() -> None:
    cache = WordCache(2, 10, None)
    cache.vectors(["x", "y"], encode)
    cache.vectors(["x", "z", "y"], encode)
    assert (cache.hits, cache.misses, len(cache)) == (2, 3, 3)
    assert cache.hit_rate == pytest.approx(0.4)


def test_the_oldest_go_first() -> None:
    encoded: list[str] = []

    def counted(words: list[str]) -> np.ndarray:
        encoded.extend(words)
        return encode(words)

    cache = WordCache(2, 2, None)
    for word in ("x", "y", "z", "y", "x"):
        cache.vectors([word], counted)
    assert encoded == ["x", "y", "z", "x"]


def test_very_long_words_are_not_kept() -> None:
    cache = WordCache(2, 2, None)
    words = ["x", "y" * 1000, "zz"]
    for _ in range(2):
        np.testing.assert_array_equal(cache.vectors(words, encode), encode(words))
    assert (len(cache), cache.hits) == (2, 2)


def test_a_full_cache_does_not_change_vectors(tiny_elmo: Elmo) -> None:
    texts = [[f"w{i}", f"w{i + 1}"] for i in range(40)]
    small = Elmo(tiny_elmo.model, cache_words=3, max_batch_tokens=12)
    for _ in range(2):
        for one, other in zip(
            small.encode_tokens(texts), tiny_elmo.encode_tokens(texts), strict=True
        ):
            np.testing.assert_array_equal(one.vectors, other.vectors)
    assert len(small.cache) == 3


def test_no_cache_at_all(tiny_elmo: Elmo) -> None:
    none = Elmo(tiny_elmo.model, cache_words=0)
    for text in ([["a", "b"]], [["a"]]):
        (found,), (expected,) = none.encode_tokens(text), tiny_elmo.encode_tokens(text)
        np.testing.assert_array_equal(found.vectors, expected.vectors)
    assert len(none.cache) == 0


def test_one_elmo_serves_several_threads(tiny_elmo: Elmo, threads: int) -> None:
    texts = [[[f"w{i}", f"w{i * 7 % 40}", f"w{i * 3 % 40}"]] for i in range(40)] * 4
    shared = Elmo(tiny_elmo.model, cache_words=5)
    expected = [tiny_elmo.encode_tokens(text)[0].vectors for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: shared.encode_tokens(text)[0].vectors, texts))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_refused_size(tiny_elmo: Elmo) -> None:
    with pytest.raises(ConfigError, match="cache_words is -1"):
        Elmo(tiny_elmo.model, cache_words=-1)
    with pytest.raises(ConfigError, match="engine is 'slow'"):
        Elmo(tiny_elmo.model, engine="slow")  # type: ignore[arg-type]
