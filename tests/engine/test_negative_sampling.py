"""The samples are TensorFlow's: log-uniform, all different, their expected counts with them."""

import math

import numpy as np
import pytest

from elmore.engine.negative_sampling import LogUniformSampler
from elmore.errors import ConfigError
from tests.oracle.training import log_uniform_expected_counts


@pytest.mark.parametrize(("n_words", "n_samples"), [(2, 1), (50, 10), (50, 49), (5000, 200)])
def test_samples_are_different_words_drawn_until_there_are_enough(
    n_words: int, n_samples: int
) -> None:
    sampler = LogUniformSampler(n_words, n_samples)
    every = np.arange(n_words, dtype=np.int32)
    for seed in range(5):
        found = sampler.draw(np.random.default_rng(seed))
        again = sampler.draw(np.random.default_rng(seed))
        assert np.array_equal(found.words, again.words)
        assert np.unique(found.words).shape == found.words.shape == (n_samples,)
        # The same numbers, one at a time: P(word <= k) = log(k + 2) / log(V + 1).
        source = np.random.default_rng(seed)
        uniform: list[float] = []
        words: list[int] = []
        n_tries = 0
        while len(words) < n_samples:
            if not uniform:
                uniform = source.random(4 * n_samples).tolist()
            word = int((n_words + 1) ** uniform.pop(0)) - 1
            words += [word] if word not in words else []
            n_tries += 1
        assert found.words.tolist() == words
        assert found.n_tries == n_tries
        expected = log_uniform_expected_counts(n_words, n_tries).log()
        np.testing.assert_allclose(sampler.log_expected(found, every), expected, atol=1e-6)


def test_words_follow_the_law() -> None:
    sampler, n_draws = LogUniformSampler(9, 1), 5000
    source = np.random.default_rng(1)
    counts = np.zeros(9)
    for _ in range(n_draws):
        counts[sampler.draw(source).words] += 1
    for k, count in enumerate(counts.tolist()):
        p = math.log((k + 2) / (k + 1)) / math.log(10)
        assert sampler.probabilities[k] == pytest.approx(p, rel=1e-12)
        assert abs(count - n_draws * p) < 4 * math.sqrt(n_draws * p * (1 - p))
    assert sampler.probabilities.sum() == pytest.approx(1, rel=1e-12)


def test_expected_counts_are_how_often_words_are_drawn() -> None:
    sampler, n_draws = LogUniformSampler(40, 12), 3000
    source = np.random.default_rng(2)
    drawn, expected = np.zeros(40), np.zeros(40)
    for _ in range(n_draws):
        found = sampler.draw(source)
        drawn[found.words] += 1 / n_draws
        expected += np.exp(sampler.log_expected(found, np.arange(40, dtype=np.int32))) / n_draws
    # Not quite, because the number of tries was not fixed beforehand.
    np.testing.assert_allclose(expected, drawn, atol=0.04)
    assert expected.sum() == pytest.approx(12, rel=0.02)
    assert drawn[0] > 0.95  # they differ, or the comparison would say little
    assert drawn[-1] < 0.3


def test_all_words_are_expected_for_certain() -> None:
    sampler = LogUniformSampler(7, 7)
    found = sampler.draw(np.random.default_rng(1))
    assert found.words.tolist() == list(range(7))
    assert sampler.log_expected(found, found.words).tolist() == [0.0] * 7


def test_more_samples_than_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="n_samples is 8, the vocabulary has 7 words; sample"):
        LogUniformSampler(7, 8)
