"""The occurrences of a word in, its senses out: clusters, as many as two views agree on.

There are two views of an occurrence: the state that the sentence expects in its place, and the
topic of the words around it. Joined, they are clustered by k-means for each number of senses from
two upwards. A grouping is good if either view alone puts the occurrences into the same groups:
that agreement (Cohen's kappa) decides on the number, and if it is low for all, the word has one
sense.

Shapes: N occurrences, p projection_dim, D = 2p.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError, MissingExtraError
from elmore.senses.describe import Sense, describe
from elmore.senses.index import Ints, Occurrence, OccurrenceIndex
from elmore.senses.representations import standardized
from elmore.senses.search import Floats, unit_norm
from elmore.senses.topics import topic_vectors

_MAX_DIMS = 20  # principal components that are clustered
_FEWEST = 10  # occurrences that can show more than one sense
_LEAST_AGREEMENT = 0.35  # views with independent groups of their own reach 1 / 3
_LEAST_ERRORS = 3  # and standard errors of what chance gives, about 1 / sqrt(N)
_SENTENCES_AT_ONCE = 128
_OTHERS = 1_000  # occurrences of other words, a sample of the corpus


@dataclass(frozen=True)
class Views:
    """Two views of occurrences, each vector of norm 1."""

    expected: Floats
    """(N, p) the state that the sentence expects, standardized where the model is calibrated."""
    topics: Floats
    """(N, p) the topic of the words around."""

    def joined(self) -> Floats:
        """Return both, centred and of the same mean norm, in their principal components."""
        return _principal(np.hstack([_scaled(self.expected), _scaled(self.topics)]))


@dataclass(frozen=True)
class Groups:
    """Vectors in groups, the largest first."""

    labels: Ints
    """Which group each vector is in, (N,)."""
    distances: Floats
    """How far each is from the mean of its group, (N,)."""
    agreement: float = 0.0
    """Of the two views on these groups (Cohen's kappa), at most 1; 0 if there is one."""


def context_states(elmo: Elmo, occurrences: Sequence[Occurrence]) -> Floats:
    """Return the states before and after each occurrence (layers="context"), (N, D)."""
    found = np.empty((len(occurrences), elmo.dim), np.float32)
    for first in range(0, len(occurrences), _SENTENCES_AT_ONCE):
        some = occurrences[first : first + _SENTENCES_AT_ONCE]
        read = elmo.encode_tokens([list(one.tokens) for one in some], layers="context")
        for row, (one, text) in enumerate(zip(some, read, strict=True), start=first):
            found[row] = text.vectors[one.place]
    return found


def views_of(elmo: Elmo, occurrences: Sequence[Occurrence], states: Floats) -> Views:
    """Return the two views of occurrences, `states` being their `context_states`."""
    before, after = np.split(states, 2, axis=1)
    expected = standardized(elmo, before + after, "expected")
    return Views(unit_norm(expected), topic_vectors(elmo, occurrences))


def find_groups(views: Views, *, max_groups: int = 8, seed: int = 1) -> Groups:
    """Cluster occurrences into as many groups as their views agree on best."""
    if max_groups < 1:
        raise ConfigError(f"max_groups is {max_groups}; expected at least 1")
    vectors = views.joined()
    n = len(vectors)
    best = Groups(np.zeros(n, np.int64), np.asarray(np.linalg.norm(vectors, axis=1), np.float32))
    if n < _FEWEST:
        return best
    alone = _principal(views.expected), _principal(views.topics)
    least = max(_LEAST_AGREEMENT, _LEAST_ERRORS / math.sqrt(n))
    for n_groups in range(2, min(max_groups, n // 5) + 1):
        groups = cluster(vectors, n_groups, seed=seed)
        given = [_nearest_groups(view, groups.labels) for view in alone]
        agreement = _kappa(*given)
        if agreement >= max(least, best.agreement):  # of equals, the finer
            best = replace(groups, agreement=agreement)
    return best


def cluster(vectors: Floats, n_groups: int, *, seed: int = 1) -> Groups:
    """Cluster vectors, (N, D), into a given number of groups by k-means."""
    try:
        from sklearn.cluster import KMeans  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingExtraError("finding senses", "senses") from None
    n_groups = min(n_groups, len(np.unique(vectors, axis=0)))
    made = KMeans(n_groups, n_init=5, random_state=seed % 2**32).fit(vectors)
    sizes = np.bincount(made.labels_, minlength=n_groups)
    numbers = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")  # the largest is 0
    distances = np.linalg.norm(vectors - made.cluster_centers_[made.labels_], axis=1)
    return Groups(numbers[made.labels_], np.asarray(distances, np.float32))


def _scaled(vectors: Floats) -> Floats:
    """Return vectors with mean 0 and a mean squared norm of 1."""
    centred = vectors - vectors.mean(axis=0)
    size = np.sqrt(np.square(centred).sum(axis=1).mean())
    return np.asarray(centred / (size if size > 0 else 1), np.float32)


def _principal(vectors: Floats) -> Floats:
    """Return the first principal components of vectors, (N, at most 20)."""
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(centred @ axes[:_MAX_DIMS].T, np.float32)


def _nearest_groups(vectors: Floats, labels: Ints) -> Ints:
    """Return the group whose mean is nearest to each vector, which itself does not count in it."""
    sizes = np.bincount(labels)
    sums = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(sums, labels, vectors)
    means = sums / sizes[:, None]
    distances = np.square(vectors[:, None] - means).sum(axis=2)
    others = (sums[labels] - vectors) / np.maximum(1, sizes[labels] - 1)[:, None]
    own = np.where(sizes[labels] > 1, np.square(vectors - others).sum(axis=1), np.inf)
    distances[np.arange(len(labels)), labels] = own
    nearest: Ints = distances.argmin(axis=1)
    return nearest


def _kappa(a: Ints, b: Ints) -> float:
    """Return how far two labellings agree beyond chance: Cohen's kappa."""
    n_groups = int(max(a.max(), b.max())) + 1
    shares = [np.bincount(labels, minlength=n_groups) / len(labels) for labels in (a, b)]
    by_chance = float(shares[0] @ shares[1])
    return float(((a == b).mean() - by_chance) / (1 - by_chance)) if by_chance < 1 else 0.0


def find_senses(
    elmo: Elmo,
    occurrences: Sequence[Occurrence],
    *,
    others: Sequence[Occurrence] = (),
    max_senses: int = 8,
    n_words: int = 8,
    seed: int = 1,
) -> list[Sense]:
    """Find the senses of a word by its occurrences, the most frequent sense first.

    `others`, of other words, show what occurs around any word and so is no keyword; `n_words` is
    how many substitutes and keywords each sense gets.
    """
    if max_senses < 1:
        raise ConfigError(f"max_senses is {max_senses}; expected at least 1")
    if len(occurrences) < 2:
        raise DataError(
            f"{occurrences[0].word!r} occurs once; senses need several occurrences"
            if occurrences
            else "there are no occurrences to cluster; give some"
        )
    states = context_states(elmo, occurrences)
    groups = find_groups(views_of(elmo, occurrences, states), max_groups=max_senses, seed=seed)
    names = [str(number + 1) for number in range(groups.labels.max() + 1)]
    return describe(
        elmo, occurrences, groups.labels, groups.distances, names, states=states, others=others,
        n_words=n_words,
    )  # fmt: skip


def sampled_rows(index: OccurrenceIndex, word: str, *, most: int = 1_000, seed: int = 1) -> Ints:
    """Return which occurrences of an index are of a word, a random sample if they are too many.

    Duplicates of a sentence count once.
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
    own = np.sort(index.rows(word))
    n_others = len(index) - len(own)
    chosen = np.random.default_rng(seed).choice(n_others, min(_OTHERS, n_others), replace=False)
    # the nth of the other rows is as many rows later as rows of the word are before it
    rows = chosen + np.searchsorted(own - np.arange(len(own)), chosen, side="right")
    return [index.occurrence(int(row)) for row in rows]
