"""The samples are TensorFlow's: log-uniform, all different, their expected counts with them."""

import math

import pytest
import torch

from elmore.engine.negative_sampling import LogUniformSampler
from elmore.errors import ConfigError
from tests.oracle.training import log_uniform_expected_counts


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(("n_words", "n_samples"), [(2, 1), (50, 10), (50, 49), (5000, 200)])
def test_samples_are_different_words_drawn_until_there_are_enough(
    n_words: int, n_samples: int
) -> None:
    sampler = LogUniformSampler(n_words, n_samples)
    for seed in range(5):
        found = sampler.draw(generator(seed))
        again = sampler.draw(generator(seed))
        assert torch.equal(found.words, again.words)
        assert found.words.shape == (n_samples,)
        assert found.words.unique().shape == (n_samples,)
        # The same numbers, one at a time: P(word <= k) = log(k + 2) / log(V + 1).
        source = generator(seed)
        uniform: list[float] = []
        words: list[int] = []
        n_tries = 0
        while len(words) < n_samples:
            if not uniform:
                uniform = torch.rand(
                    4 * n_samples, dtype=torch.float64, generator=source
                ).tolist()  # fmt: skip
            word = int((n_words + 1) ** uniform.pop(0)) - 1
            words += [word] if word not in words else []
            n_tries += 1
        assert found.words.tolist() == words
        expected = log_uniform_expected_counts(n_words, n_tries).log()
        torch.testing.assert_close(found.log_expected.double(), expected, atol=1e-6, rtol=1e-6)


def test_words_follow_the_law() -> None:
    sampler, n_draws = LogUniformSampler(9, 1), 5000
    source = generator(1)
    counts = torch.zeros(9, dtype=torch.float64)
    for _ in range(n_draws):
        counts[sampler.draw(source).words] += 1
    for k, count in enumerate(counts.tolist()):
        p = math.log((k + 2) / (k + 1)) / math.log(10)
        assert sampler.probabilities[k].item() == pytest.approx(p, rel=1e-12)
        assert abs(count - n_draws * p) < 4 * math.sqrt(n_draws * p * (1 - p))
    assert sampler.probabilities.sum().item() == pytest.approx(1, rel=1e-12)


def test_expected_counts_are_how_often_words_are_drawn() -> None:
    sampler, n_draws = LogUniformSampler(40, 12), 3000
    source = generator(2)
    drawn, expected = torch.zeros(40), torch.zeros(40)
    for _ in range(n_draws):
        found = sampler.draw(source)
        drawn[found.words] += 1 / n_draws
        expected += found.log_expected.exp() / n_draws
    # Not quite, because the number of tries was not fixed beforehand.
    torch.testing.assert_close(expected, drawn, atol=0.04, rtol=0)
    assert expected.sum().item() == pytest.approx(12, rel=0.02)
    assert drawn[0] > 0.95  # they differ, or the comparison would say little
    assert drawn[-1] < 0.3


def test_all_words_are_expected_for_certain() -> None:
    found = LogUniformSampler(7, 7).draw(generator(1))
    assert found.words.tolist() == list(range(7))
    assert found.log_expected.tolist() == [0.0] * 7


def test_more_samples_than_words_are_refused() -> None:
    with pytest.raises(ConfigError, match="n_samples is 8, the vocabulary has 7 words; sample"):
        LogUniformSampler(7, 8)
