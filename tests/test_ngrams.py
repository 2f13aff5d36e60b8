"""The n-gram baselines of benchmarks/, against numbers worked by hand and a literal oracle."""

import lzma
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks import ngrams

from elmore.errors import DataError

A, B, C = 3, 4, 5
S, E, U = ngrams.BEGIN, ngrams.END, ngrams.UNKNOWN
N_WORDS = 12


@pytest.fixture(scope="module")
def sentences():
    """Skewed random text in which words depend on those before; word 11 never occurs."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        words = [int(rng.integers(3, 11))]
        while rng.random() < 0.85:
            words.append(3 + (words[-1] * 2 + int(rng.geometric(0.5))) % 8)
        found.append(words)
    return found


def fit(sentences, order, n_words=N_WORDS):
    return ngrams.KneserNey.fit(ngrams.Text.of(sentences, n_words), order=order, n_words=n_words)


# --- the oracle: the equations with dictionaries --------------------------------------------------


class Oracle:
    """Modified Kneser-Ney, one n-gram at a time."""

    def __init__(self, sentences, order, n_words):
        self.n_words = n_words
        self.counts = [Counter() for _ in range(order + 1)]
        for n in range(1, order + 1):
            for sentence in sentences:
                marked = (S, *sentence, E)
                for end in range(max(n, 2), len(marked) + 1):
                    self.counts[n][marked[end - n : end]] += 1
        for n in range(1, order):
            n_before = Counter(ngram[1:] for ngram in self.counts[n + 1])
            for ngram in self.counts[n]:
                if ngram[0] != S:
                    self.counts[n][ngram] = n_before[ngram]

    def discount(self, n, count):
        n1, n2, n3, n4 = (list(self.counts[n].values()).count(c) for c in (1, 2, 3, 4))
        if 0 in (n1, n2, n3):
            found = ngrams.FALLBACK
        else:
            Y = n1 / (n1 + 2 * n2)
            found = (1 - 2 * Y * n2 / n1, 2 - 3 * Y * n3 / n2, 3 - 4 * Y * n4 / n3)
            if min(found) < 0:
                found = ngrams.FALLBACK
        return found[min(count, 3) - 1]

    def probability(self, word, history):
        if word == S:
            return 0.0
        lower = self.probability(word, history[1:]) if history else 1 / (self.n_words - 1)
        n = len(history) + 1
        after = {ngram: c for ngram, c in self.counts[n].items() if ngram[:-1] == history}
        if not after:
            return lower
        total = sum(after.values())
        gamma = sum(self.discount(n, c) for c in after.values()) / total
        count = after.get((*history, word), 0)
        return (count - self.discount(n, count) if count else 0) / total + gamma * lower


@pytest.mark.parametrize("order", [1, 2, 3])
def test_is_the_model_of_the_equations(sentences, order):
    model, oracle = fit(sentences[:80], order), Oracle(sentences[:80], order, N_WORDS)
    for history in [(S,), (S, 3), (4, 5), (7, 7), (11, 3), (3, 11), (11, 11), (2, 2), (S, E)]:
        reach = history[max(0, len(history) - order + 1) :]
        expected = [oracle.probability(word, reach) for word in range(N_WORDS)]
        np.testing.assert_allclose(model.distribution(history), expected, rtol=1e-12)


# --- by hand --------------------------------------------------------------------------------------


def test_discounts_by_hand():
    # n1, n2, n3, n4 = 4, 2, 1, 1: Y = 4 / 8.
    counts = np.array([1, 1, 1, 1, 2, 2, 3, 4, 5, 90])
    np.testing.assert_allclose(ngrams.discount(counts), [0.5, 1.25, 1.0])


@pytest.mark.parametrize(
    "counts", [[], [2, 2, 3], [1, 3], [1, 2, 5], [1, 2, 3, 3, 3, 3, 4, 4, 4, 4]]
)
def test_discounts_that_cannot_be_estimated(counts):
    assert tuple(ngrams.discount(np.array(counts, np.int64))) == ngrams.FALLBACK


def test_bigrams_by_hand():
    model = fit([[A, B], [A, B], [A, C]], 2, n_words=6)
    # Words before: a, b, c have 1, </S> has 2 (b and c). None has 3, so D = 0.5, 1, 1.5.
    # gamma = (3 * 0.5 + 1) / 5, and a fifth of it goes to each word but <S>.
    unigrams = np.array([0, 1 / 5, 0, 0.1, 0.1, 0.1]) + np.array([0, 0.1, 0.1, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(model.distribution([C, U]), unigrams)  # nothing follows <UNK>
    # <S> a: 3, a b: 2, b </S>: 2, a c: 1, c </S>: 1. Y = 2 / 6.
    np.testing.assert_allclose(model.levels[1].discounts, [1 / 3, 1.5, 3.0])
    assert model.distribution([A])[B] == pytest.approx((2 - 1.5) / 3 + (1.5 + 1 / 3) / 3 * 0.2)
    assert model.distribution([A])[C] == pytest.approx((1 - 1 / 3) / 3 + (1.5 + 1 / 3) / 3 * 0.2)
    assert model.distribution([])[A] == pytest.approx((3 - 3) / 3 + 3 / 3 * 0.2)


def test_perplexity_is_over_words_and_the_end_mark():
    train, held_out = [[A, B], [A, B], [A, C]], [[A, 77], [B]]
    model = fit(train, 2, n_words=6)
    steps = [([], A), ([A], U), ([U], E), ([], B), ([B], E)]
    expected = np.exp(-np.mean([np.log(model.distribution(h)[w]) for h, w in steps]))
    found = ngrams.perplexities(train, held_out, 6)
    assert found["forward"]["bigram"] == pytest.approx(expected)
    assert found["n_predictions"] == 5
    assert found["n_train_tokens"] == 9
    assert found["unknown_rate"] == pytest.approx(1 / 3)


# --- properties -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_every_distribution_sums_to_one(sentences, order, direction):
    text = ngrams.Text.of(sentences, N_WORDS)
    text = text if direction == "forward" else text.reversed()
    model = ngrams.KneserNey.fit(text, order=order, n_words=N_WORDS)
    for history in [[], [3], [11], [3, 4], [4, 3], [3, 11], [11, 3], [2, 2], [5, 6, 7]]:
        found = model.distribution(history)
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert found[text.begin] == 0
        assert (np.delete(found, text.begin) > 0).all()


def test_backward_is_forward_on_reversed_text(sentences):
    train, held_out = sentences[:250], sentences[250:]
    found = ngrams.perplexities(train, held_out, N_WORDS)
    mirrored = ngrams.perplexities(
        [words[::-1] for words in train], [words[::-1] for words in held_out], N_WORDS
    )
    assert found["backward"] == pytest.approx(mirrored["forward"])
    assert found["forward"] == pytest.approx(mirrored["backward"])
    assert found["forward"]["unigram"] == pytest.approx(found["backward"]["unigram"])
    assert found["forward"]["bigram"] != pytest.approx(found["backward"]["bigram"])
    assert found["forward"]["trigram"] < found["forward"]["unigram"] < N_WORDS - 1


def test_words_out_of_reach_are_unknown(sentences):
    strange = [[*words, 10**6, S, E] for words in sentences]
    named = [[*words, U, U, U] for words in sentences]
    assert ngrams.perplexities(strange, strange, N_WORDS) == ngrams.perplexities(
        named, named, N_WORDS
    )


def test_the_largest_ids_do_not_run_into_each_other():
    n_words = 2**ngrams.BITS - 1
    far = [[n_words - word for word in words] for words in [[1, 2, 3], [3, 2, 1], [1, 1, 3]]]
    near = [[9 - word for word in words] for words in [[1, 2, 3], [3, 2, 1], [1, 1, 3]]]
    top, low = (
        ngrams.KneserNey.fit(ngrams.Text.of(words, n_words), order=3, n_words=n_words)
        for words in (far, near)
    )
    assert top.perplexity(ngrams.Text.of(far, n_words)) == pytest.approx(
        low.perplexity(ngrams.Text.of(near, n_words))
    )


def test_parts_are_joined_sentence_by_sentence():
    parts = [
        (np.array([3, 4, 5], np.int32), np.array([2, 2, 3])),  # the second sentence is empty
        (np.array([], np.int32), np.array([], np.int64)),
        (np.array([6, 99], np.int32), np.array([2])),
    ]
    joined = ngrams.Text.joined(parts, N_WORDS)
    assert joined.ids.tolist() == [S, 3, 4, E, S, E, S, 5, E, S, 6, U, E]
    assert ngrams.Text.of([[3, 4], [], [5], [6, 99]], N_WORDS).ids.tolist() == joined.ids.tolist()


@pytest.mark.parametrize(
    ("train", "held_out", "n_words", "message"),
    [
        ([], [[A]], 6, "training text has no sentence"),
        ([[A]], [], 6, "held-out text has no word"),
        ([[A]], [[A]], 3, "n_words is 3"),
        ([[A]], [[A]], 2**21, "n_words is 2097152"),
    ],
)
def test_errors_name_what_is_missing(train, held_out, n_words, message):
    with pytest.raises(DataError, match=message):
        ngrams.perplexities(train, held_out, n_words)


def test_the_command_reads_text(tmp_path: Path, monkeypatch, capsys):
    train, held_out = tmp_path / "train.txt.xz", tmp_path / "held_out.txt"
    with lzma.open(train, "wt", encoding="utf-8") as file:
        file.write("b a b\n\n  \na c b a\nb\n")
    held_out.write_text(" a b zzz \n\nb c\n", encoding="utf-8")
    assert ngrams.choose_words(train, 5).words == ("<S>", "</S>", "<UNK>", "b", "a")
    monkeypatch.setattr(sys, "argv", ["ngrams.py", str(train), str(held_out), "--max-words", "5"])
    ngrams.main()
    printed = capsys.readouterr().out
    assert "5 words in the vocabulary, 11 tokens read, 7 to predict; 40.00% of" in printed
    expected = ngrams.perplexities([[3, 4, 3], [4, 2, 3, 4], [3]], [[4, 3, 2], [3, 2]], 5)
    assert f"{expected['backward']['trigram']:.2f}" in printed
