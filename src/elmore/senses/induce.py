"""The sentences of a word in, its senses out: groups of like use, as many as the data show.

What a word means is told by the words around it more than by its own vector, much of which is the
grammar of its place. So an occurrence stands for the mean of the top layer over its neighbours,
frequent words counting little. These means are parted by k-means, for each number of senses from
two upwards, and the number is taken whose groups lie furthest apart for their width (silhouette).
If chance parts single clouds of the same shape as well as that, the word has one sense.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError, MissingExtraError
from elmore.senses.index import Ints, Occurrence, OccurrenceIndex
from elmore.senses.search import Floats, of_length_one

_WINDOW = 10  # words on either side that count
_FREQUENT = 1e-4  # a word of this share counts half
_MOST_DIMS = 20  # in which groups are looked for
_FEWEST = 10  # occurrences that can show more than one sense
_CLOUDS = 19  # that must all be parted worse: chance does as well once in twenty times
_SENTENCES_AT_ONCE = 128
_OTHERS = 1_000  # occurrences of other words that stand for the rest of a corpus
_PRIOR = 0.5  # added to each count, against chance


@dataclass(frozen=True)
class Groups:
    """Vectors in groups, the largest first."""

    labels: Ints
    """Which group each vector is in, (N,)."""
    distances: Floats
    """How far each is from the middle of its group, (N,)."""
    silhouette: float
    """How far apart the groups lie, at most 1; 0 if there is one."""


@dataclass(frozen=True)
class Sense:
    """A way in which a word is used."""

    name: str
    """Its number, or what its labelled examples are called."""
    rows: Ints
    """Which of the occurrences, the most typical first."""
    share: float
    """Of all occurrences."""
    telling: list[str]
    """Words that stand near it more than near the other senses, and near other words."""


def context_vectors(elmo: Elmo, occurrences: Sequence[Occurrence]) -> Floats:
    """Return what stands for each occurrence: the mean of the words around it, (N, D)."""
    found = np.empty((len(occurrences), elmo.dim), np.float32)
    around = list(weighted_neighbours(occurrences))
    for first in range(0, len(occurrences), _SENTENCES_AT_ONCE):
        some = occurrences[first : first + _SENTENCES_AT_ONCE]
        read = elmo.encode_tokens([list(one.tokens) for one in some], layers="top")
        for row, (one, text) in enumerate(zip(some, read, strict=True), start=first):
            places, weights = around[row]
            # A word that stands alone has nothing but itself.
            found[row] = weights @ text.vectors[places] if places else text.vectors[one.place]
    return of_length_one(found)


def weighted_neighbours(occurrences: Sequence[Occurrence]) -> Iterator[tuple[list[int], Floats]]:
    """Give the places of the words around each occurrence, and how much each of them counts."""
    counts = Counter(token for one in occurrences for token in one.tokens)
    n_tokens = counts.total()
    weights = {word: _FREQUENT / (_FREQUENT + n / n_tokens) for word, n in counts.items()}
    for one in occurrences:
        places = _around(one)
        yield places, np.array([weights[one.tokens[k]] for k in places], np.float32)


def _around(one: Occurrence) -> list[int]:
    """Return the places of the words that count for an occurrence."""
    first, last = max(0, one.place - _WINDOW), min(len(one.tokens), one.place + _WINDOW + 1)
    return [k for k in range(first, last) if k != one.place]


def find_groups(
    vectors: npt.NDArray[np.floating[Any]], *, max_groups: int = 8, seed: int = 1
) -> Groups:
    """Part vectors, (N, D), into as many groups as they show."""
    if max_groups < 1:
        raise ConfigError(f"max_groups is {max_groups}; expected at least 1")
    middle = vectors.mean(axis=0)
    best = Groups(np.zeros(len(vectors), np.int64), np.linalg.norm(vectors - middle, axis=1), 0.0)
    if len(vectors) < _FEWEST or max_groups == 1:
        return best
    _, widths, axes = np.linalg.svd(vectors - middle, full_matrices=False)
    n_dims = min(_MOST_DIMS, len(widths))
    projected = (vectors - middle) @ axes[:n_dims].T
    numbers = range(2, min(max_groups, len(vectors) // 5) + 1)
    found = max((_parted(projected, k, seed) for k in numbers), key=lambda g: g.silhouette)
    rng = np.random.default_rng(seed)
    spread = widths[:n_dims] / math.sqrt(len(vectors))
    for _ in range(_CLOUDS):
        cloud = rng.normal(size=projected.shape) * spread
        if max(_parted(cloud, k, seed).silhouette for k in numbers) >= found.silhouette:
            return best
    return found


def _parted(vectors: npt.NDArray[np.floating[Any]], n_groups: int, seed: int) -> Groups:
    try:
        from sklearn.cluster import KMeans  # noqa: PLC0415  an extra
        from sklearn.metrics import silhouette_score  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("finding senses", "senses") from None
    made = KMeans(n_groups, n_init=3, random_state=seed % 2**32).fit(vectors)
    sizes = np.bincount(made.labels_, minlength=n_groups)
    numbers = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")  # the largest is 0
    distances = np.linalg.norm(vectors - made.cluster_centers_[made.labels_], axis=1)
    several = len(np.unique(made.labels_)) > 1
    score = float(silhouette_score(vectors, made.labels_)) if several else 0.0
    return Groups(numbers[made.labels_], distances, score)


def find_senses(
    elmo: Elmo,
    occurrences: Sequence[Occurrence],
    *,
    others: Sequence[Occurrence] = (),
    max_senses: int = 8,
    n_telling: int = 8,
    seed: int = 1,
) -> list[Sense]:
    """Tell the senses of a word apart by its occurrences, the most frequent sense first.

    `others`, of other words, say what stands near any word and so tells nothing.
    """
    if max_senses < 1:
        raise ConfigError(f"max_senses is {max_senses}; expected at least 1")
    if len(occurrences) < 2:
        raise DataError(
            f"{occurrences[0].word!r} occurs once; senses need several occurrences"
            if occurrences
            else "there are no occurrences to tell apart; give some"
        )
    vectors = context_vectors(elmo, occurrences)
    groups = find_groups(vectors, max_groups=max_senses, seed=seed)
    names = [str(number + 1) for number in range(groups.labels.max() + 1)]
    return describe(
        occurrences, groups.labels, groups.distances, names, others=others, n_telling=n_telling
    )


def describe(
    occurrences: Sequence[Occurrence],
    labels: Ints,
    distances: Floats,
    names: Sequence[str],
    *,
    others: Sequence[Occurrence] = (),
    n_telling: int = 8,
) -> list[Sense]:
    """Say of each group of occurrences, by number, how large it is and what tells it apart.

    That is what stands near it more than near the other groups, and than near `others`, the
    occurrences of other words.
    """
    rows_of = []
    for number in range(len(names)):
        rows = np.flatnonzero(labels == number)
        rows_of.append(rows[np.argsort(distances[rows], kind="stable")])
    counts = [_near_words([occurrences[k] for k in rows]) for rows in rows_of]
    elsewhere = _near_words(others)
    senses = []
    for name, rows, own in zip(names, rows_of, counts, strict=True):
        rest = sum((other for other in counts if other is not own), Counter[str]())
        telling = _telling(own, [words for words in (rest, elsewhere) if words], n_telling)
        senses.append(Sense(name, rows, len(rows) / len(occurrences), telling))
    return senses


def sampled_rows(index: OccurrenceIndex, word: str, *, most: int = 1_000, seed: int = 1) -> Ints:
    """Return which occurrences of an index are of a word, a random sample if they are too many.

    Copies of one sentence count once.
    """
    if most < 1:
        raise ConfigError(f"the number of occurrences is {most}; expected at least 1")
    kept: dict[tuple[str, ...], int] = {}
    for row in np.random.default_rng(seed).permutation(index.rows(word)):
        kept.setdefault(index.occurrence(int(row)).tokens, int(row))
        if len(kept) == most:
            break
    return np.sort(np.array(list(kept.values()), np.int64))


def other_occurrences(index: OccurrenceIndex, word: str, *, seed: int = 1) -> list[Occurrence]:
    """Return a random sample of the occurrences of other words, as far as the index has some."""
    rows = np.setdiff1d(np.arange(len(index)), index.rows(word), assume_unique=True)
    n = min(_OTHERS, len(rows))
    chosen = np.random.default_rng(seed).choice(rows, n, replace=False)
    return [index.occurrence(int(row)) for row in chosen]


def _near_words(occurrences: Sequence[Occurrence]) -> Counter[str]:
    """Count in how many of the occurrences each word stands near."""
    return Counter(
        word
        for one in occurrences
        for word in {one.tokens[k].lower() for k in _around(one)}
        if any(character.isalpha() for character in word)
    )


def _telling(own: Counter[str], rests: Sequence[Counter[str]], n: int) -> list[str]:
    """Return the words that are more frequent in `own` than in each of the rests, clearest first.

    By the logarithm of the odds, in standard deviations (Monroe et al. 2008), against that rest
    from which a word is told worst; if there is none, the most frequent words.
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
    telling = [word for word in sorted(scores) if scores[word] > 0]
    return sorted(telling, key=lambda word: -scores[word])[:n]


def _surprise(count: int, of: int, other_count: int, other_of: int) -> float:
    """Return by how many standard deviations a count's odds are above another's."""
    a, b = count + _PRIOR, other_count + _PRIOR
    odds = math.log(a / (of - a + 1)) - math.log(b / (other_of - b + 1))
    return odds / math.sqrt(1 / a + 1 / b)
