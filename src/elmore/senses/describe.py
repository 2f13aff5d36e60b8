"""Groups of a word's occurrences in, a description of each out: substitutes and keywords.

Substitutes are words that could replace the word in this sense rather than in the others: what the
model expects in its place from both sides (`Elmo.fill`). Keywords are words that occur around it in
this sense rather than in the others, and rather than around other words. Function words, by their
rank in the model's vocabulary, are left out of both.

Shapes: N occurrences, V words, D dim, S senses.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo, Filler
from elmore.embed.fill import most_probable
from elmore.senses.index import Ints, Occurrence
from elmore.senses.search import Floats
from elmore.senses.topics import words_around
from elmore.text import Vocab

_FUNCTION_WORD = 1e-3  # from this probability on
_N_SUBSTITUTES = 100  # of one occurrence that count
_LEAST = 1e-4  # added to the probability of a substitute, against chance
_PRIOR = 0.5  # added to each count of a keyword, against chance
_OCCURRENCES_AT_ONCE = 128


@dataclass(frozen=True)
class Sense:
    """A way in which a word is used."""

    name: str
    """Its number, or what its labelled examples are called."""
    rows: Ints
    """Which of the occurrences, the most typical first."""
    share: float
    """Of all occurrences."""
    substitutes: list[str]
    """Words that could replace it rather than the other senses; none if the model has no
    softmax."""
    keywords: list[str]
    """Words that occur around it rather than around the other senses, and other words."""


def describe(
    elmo: Elmo,
    occurrences: Sequence[Occurrence],
    labels: Ints,
    distances: Floats,
    names: Sequence[str],
    *,
    states: Floats,
    others: Sequence[Occurrence] = (),
    n_words: int = 8,
) -> list[Sense]:
    """Describe each group of occurrences of one word, by number.

    `states` are layers="context" of the occurrences, (N, D); `others` are occurrences of other
    words; `n_words` is how many substitutes and keywords each sense gets.
    """
    rows_of = []
    for number in range(len(names)):
        rows = np.flatnonzero(labels == number)
        rows_of.append(rows[np.argsort(distances[rows], kind="stable")])
    vocab = elmo.model.vocab
    frequent = frozenset[str]() if vocab is None else _function_words(vocab)
    counts = [_near_words([occurrences[k] for k in rows], frequent) for rows in rows_of]
    elsewhere = _near_words(others, frequent)
    word = occurrences[0].word
    substitutes = _substitutes(elmo, word, states, labels, n_senses=len(names), n=n_words)
    senses = []
    for number, (name, rows) in enumerate(zip(names, rows_of, strict=True)):
        own = counts[number]
        rest = sum((other for other in counts if other is not own), Counter[str]())
        keywords = _keywords(own, [words for words in (rest, elsewhere) if words], n_words)
        share = len(rows) / len(occurrences)
        senses.append(Sense(name, rows, share, substitutes[number], keywords))
    return senses


def _function_words(vocab: Vocab) -> frozenset[str]:
    frequent = vocab.zipf() >= _FUNCTION_WORD
    return frozenset(vocab.words[row].lower() for row in np.flatnonzero(frequent))


def _substitutes(
    elmo: Elmo, word: str, states: Floats, labels: Ints, *, n_senses: int, n: int
) -> list[list[str]]:
    """Return the `n` substitutes that each sense has rather than the others, clearest first.

    With P(w) the mean probability of a substitute over the occurrences of a sense, and Q(w) over
    the rest, by P log (P / Q).
    """
    if elmo.softmax is None or elmo.model.vocab is None:
        return [[] for _ in range(n_senses)]
    filler, vocab = Filler(elmo), elmo.model.vocab
    forms = {word.lower(), f"{word.lower()}s"}
    left_out = [
        row
        for row, other in enumerate(vocab)
        if other.lower() in forms or not any(map(str.isalpha, other))
    ]
    lower = (vocab.row(other.lower()) for other in vocab)
    folded = np.array([row if found is None else found for row, found in enumerate(lower)])
    sums = np.zeros((n_senses, len(vocab)))
    for first in range(0, len(states), _OCCURRENCES_AT_ONCE):
        some = slice(first, first + _OCCURRENCES_AT_ONCE)
        scores = filler.log_probabilities(states[some])
        scores[:, left_out] = -np.inf
        n_best = min(_N_SUBSTITUTES, len(vocab) - len(left_out))
        best = np.stack([most_probable(one, n_best) for one in scores])
        shares = np.exp(np.take_along_axis(scores, best, axis=1))
        shares /= shares.sum(axis=1, keepdims=True)
        np.add.at(sums, (labels[some, None], folded[best]), shares)
    sizes = np.bincount(labels, minlength=n_senses)[:, None]
    rest = (sums.sum(axis=0) - sums) / np.maximum(1, len(labels) - sizes)
    own = sums / np.maximum(1, sizes)
    gains = own * np.log((own + _LEAST) / (rest + _LEAST))
    gains[:, vocab.zipf() >= _FUNCTION_WORD] = 0
    orders: npt.NDArray[np.int64] = np.argsort(-gains, axis=1, kind="stable")[:, :n]
    return [
        [vocab.words[row] for row in order if gain[row] > 0]
        for order, gain in zip(orders, gains, strict=True)
    ]


def _near_words(occurrences: Sequence[Occurrence], frequent: frozenset[str]) -> Counter[str]:
    """Count the occurrences that each word is near."""
    return Counter(
        word
        for one in occurrences
        for word in {word.lower() for word in words_around(one)} - frequent
        if any(map(str.isalpha, word))
    )


def _keywords(own: Counter[str], rests: Sequence[Counter[str]], n: int) -> list[str]:
    """Return the words that are more frequent in `own` than in each of the rests, clearest first.

    By the log odds ratio in standard deviations (Monroe et al. 2008), the smallest over all rests;
    if there is none, the most frequent words.
    """
    if not rests:
        return sorted(own, key=lambda word: (-own[word], word))[:n]
    n_own, totals = own.total(), [rest.total() for rest in rests]
    scores = {
        word: min(
            _surprise(count, n_own, rest[word], n_rest)
            for rest, n_rest in zip(rests, totals, strict=True)
        )
        for word, count in own.items()
    }
    clear = [word for word in sorted(scores) if scores[word] > 0]
    return sorted(clear, key=lambda word: -scores[word])[:n]


def _surprise(count: int, of: int, other_count: int, other_of: int) -> float:
    """Return by how many standard deviations a count's odds are above another's."""
    a, b = count + _PRIOR, other_count + _PRIOR
    odds = math.log(a / (of - a + 1)) - math.log(b / (other_of - b + 1))
    return odds / math.sqrt(1 / a + 1 / b)
