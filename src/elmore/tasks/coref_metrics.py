"""MUC, B-cubed and CEAF-phi4 of clusters of mentions, as the official CoNLL-2012 scorer has them.

Clusters are compared document by document; numerators and denominators are summed over all
documents before they are divided. A mention is a pair of numbers, and is the same as another if
both are. Clusters of one mention count in B-cubed and CEAF, and have no links for MUC. The CoNLL
F1 is the mean of the three F1s (Pradhan et al. 2014).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from elmore.tasks.metrics import Evaluation

Span = tuple[int, int]
Cluster = tuple[Span, ...]


@dataclass(frozen=True)
class ClusterScore:
    """One metric of all documents."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class CorefEvaluation(Evaluation):
    """The scores of coreference resolution; `score` is the mean F1 of the three metrics."""

    muc: ClusterScore
    b_cubed: ClusterScore
    ceaf: ClusterScore
    """CEAF-phi4, which is called CEAF-e too."""
    mentions: ClusterScore
    """Whether mentions are found, in whatever cluster."""
    n_documents: int

    def figures(self) -> dict[str, float]:
        """Return the F1s by name."""
        return super().figures() | {
            "MUC": self.muc.f1,
            "B³": self.b_cubed.f1,
            "CEAF-φ4": self.ceaf.f1,
            "mentions": self.mentions.f1,
        }


class _Counts(NamedTuple):
    """What precision and recall of one document, or the sum of all, are divided from."""

    precise: float
    of_given: float
    recalled: float
    of_right: float


def evaluate_clusters(
    right: Sequence[Sequence[Cluster]], given: Sequence[Sequence[Cluster]]
) -> CorefEvaluation:
    """Compare the clusters of each document, in which no mention may occur twice."""
    scores = []
    for metric in (_muc, _b_cubed, _ceaf, _mentions):
        counts = [_Counts(0, 0, 0, 0)]
        counts += [metric(a, b) for a, b in zip(right, given, strict=True)]
        scores.append(_score(_Counts(*map(sum, zip(*counts, strict=True)))))
    muc, b_cubed, ceaf, mentions = scores
    mean = (muc.f1 + b_cubed.f1 + ceaf.f1) / 3
    return CorefEvaluation("CoNLL F1", mean, muc, b_cubed, ceaf, mentions, len(right))


def _score(counts: _Counts) -> ClusterScore:
    precision = counts.precise / counts.of_given if counts.of_given else 0.0
    recall = counts.recalled / counts.of_right if counts.of_right else 0.0
    both = precision + recall
    return ClusterScore(precision, recall, 2 * precision * recall / both if both else 0.0)


def _number_of(clusters: Sequence[Cluster]) -> dict[Span, int]:
    """Return the number of each mention's cluster."""
    return {span: number for number, cluster in enumerate(clusters) for span in cluster}


def _muc(right: Sequence[Cluster], given: Sequence[Cluster]) -> _Counts:
    return _Counts(*_links(given, right), *_links(right, given))


def _links(clusters: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[int, int]:
    """Return how many links of `clusters` the others have, and of how many (Vilain et al. 1995)."""
    other_of = _number_of(others)
    found = n_links = 0
    for cluster in clusters:
        inside = [other_of[span] for span in cluster if span in other_of]
        n_parts = len(set(inside)) + len(cluster) - len(inside)  # a missing mention is its own
        found += len(cluster) - n_parts
        n_links += len(cluster) - 1
    return found, n_links


def _b_cubed(right: Sequence[Cluster], given: Sequence[Cluster]) -> _Counts:
    return _Counts(*_shares(given, right), *_shares(right, given))


def _shares(clusters: Sequence[Cluster], others: Sequence[Cluster]) -> tuple[float, int]:
    """Return the sum over mentions of their cluster's share in their other one, and how many."""
    other_of = _number_of(others)
    total = 0.0
    for cluster in clusters:
        common = Counter(other_of[span] for span in cluster if span in other_of)
        total += sum(count**2 for count in common.values()) / len(cluster)
    return total, sum(map(len, clusters))


def _ceaf(right: Sequence[Cluster], given: Sequence[Cluster]) -> _Counts:
    """Align the clusters one to one so that the sum of phi4 is the greatest (Luo 2005)."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  of the extra

    given_of = _number_of(given)
    phi4 = np.zeros((len(right), len(given)))
    for row, cluster in enumerate(right):
        for column, common in Counter(given_of.get(span, -1) for span in cluster).items():
            if column >= 0:
                phi4[row, column] = 2 * common / (len(cluster) + len(given[column]))
    total = float(phi4[linear_sum_assignment(phi4, maximize=True)].sum())
    return _Counts(total, len(given), total, len(right))


def _mentions(right: Sequence[Cluster], given: Sequence[Cluster]) -> _Counts:
    a, b = _number_of(right), _number_of(given)
    both = len(a.keys() & b.keys())
    return _Counts(both, len(b), both, len(a))
