"""Duplicate lines, samples and coverage, exact or within their bounds."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmore.doctor.corpus_stats import DuplicateLines, Sample, n_tokens, read_corpus_stats
from tests.pretrain.small_runs import small


@given(st.lists(st.integers(0, 30), max_size=60))
def test_duplicate_lines_are_exact_while_they_are_few(numbers: list[int]) -> None:
    seen = DuplicateLines(max_lines=31)
    for number in numbers:
        seen.add(f"line {number}")
    assert seen.n_zeros == 0
    n_repeated = len(numbers) - len(Counter(numbers))
    assert seen.share * len(numbers) == pytest.approx(n_repeated)


def test_duplicate_lines_are_estimated_when_they_are_many() -> None:
    seen = DuplicateLines(max_lines=2000)
    for number in range(30_000):
        seen.add(f"line {number % 24_000}")
        assert len(seen._hashes) <= 2000
    assert seen.n_zeros > 0
    assert seen.share == pytest.approx(0.2, abs=0.02)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=200))
def test_a_sample_is_spread_and_bounded(lengths: list[int]) -> None:
    sample = Sample(max_tokens=50)
    sentences = [b" ".join([b"%d" % k] * n) for k, n in enumerate(lengths)]
    for sentence in sentences:
        sample.add(sentence)
    assert sum(map(n_tokens, sample.sentences)) <= 50
    assert sample.sentences in [sentences[:: 2**k] for k in range(9)]


def test_how_many_words_cover_a_share(text: Path, tmp_path: Path) -> None:
    found = read_corpus_stats([text], small().corpus, tmp_path, encoder=small().token_encoder)
    for share in (0.1, 0.5, 0.9, 1.0):
        n_words = found.words_to_cover(share)
        assert found.words.coverage(n_words) >= share - 1e-9
        assert found.words.coverage(n_words - 1) < share
