"""Counting with little memory gives what counting with much does."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmore.corpus import word_counts
from elmore.corpus.word_counts import CommonWords, WordCounter

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), min_size=1)
PIECES = st.lists(st.dictionaries(WORDS, st.integers(1, 9), max_size=12), max_size=12)


def count(pieces: list[dict[str, int]], max_in_memory: int, *limits: int) -> CommonWords:
    with TemporaryDirectory() as folder:
        counter = WordCounter(Path(folder), max_in_memory)
        for piece in pieces:
            counter.add(piece)
            assert len(counter._counts) <= max_in_memory
        return counter.most_common(*limits)


@given(PIECES, st.integers(0, 20), st.integers(1, 30), st.integers(1, 12))
def test_the_most_common_words(
    pieces: list[dict[str, int]], max_in_memory: int, max_words: int, min_count: int
) -> None:
    total: Counter[str] = Counter()
    for piece in pieces:
        total.update(piece)
    ranked = sorted(total, key=lambda word: (-total[word], word))
    found = count(pieces, max_in_memory, max_words, min_count)
    assert list(found.words) == [w for w in ranked if total[w] >= min_count][:max_words]
    assert found.n_distinct == len(total)
    assert found.n_tokens == total.total()
    for n_words in (0, 1, max_words, len(total), len(total) + 1):
        covered = sum(total[word] for word in ranked[:n_words])
        assert found.coverage(n_words) == pytest.approx(covered / max(total.total(), 1))


def test_many_runs_are_merged_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_counts, "_MAX_RUNS", 3)
    counter = WordCounter(tmp_path, max_in_memory=1)
    for number in range(20):
        counter.add({"always": 2, f"word{number:02d}": 1})
        assert len(list(tmp_path.iterdir())) < 3
    found = counter.most_common(3)
    assert found.words == ("always", "word00", "word01")
    assert (found.n_tokens, found.n_distinct) == (60, 21)
