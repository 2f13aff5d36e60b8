"""MUC, B-cubed and CEAF-phi4 are those of the official scorer: each fixture is worked out by hand.

Mentions are letters here: a is (1, 1), b is (2, 2), and so on.
"""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from elmore.tasks.coref_metrics import Cluster, ClusterScore, evaluate_clusters


def clusters(said: str) -> list[Cluster]:
    return [tuple((ord(m) - 96, ord(m) - 96) for m in cluster) for cluster in said.split()]


def scores(key: str, response: str) -> dict[str, ClusterScore]:
    found = evaluate_clusters([clusters(key)], [clusters(response)])
    return {"muc": found.muc, "b_cubed": found.b_cubed, "ceaf": found.ceaf}


FIXTURES: list[tuple[str, str, dict[str, tuple[float, float]]]] = [
    # Pradhan et al. 2014, key {a b c} {d e f g}, response {a b} {c d} {f g h i}.
    #
    # MUC. Recall: {abc} is parted into ab | c: 3 - 2 = 1 of 2 links; {defg} into d | e | fg, as
    # e is missing: 4 - 3 = 1 of 3: 2 / 5. Precision: {ab} 1 of 1; {cd} into c | d: 0 of 1; {fghi}
    # into fg | h | i: 4 - 3 = 1 of 3: 2 / 5.
    #
    # B-cubed. Recall: (2² + 1²) / 3 + (1² + 2²) / 4 = 5/3 + 5/4 = 35/12, of 7 mentions: 5/12.
    # Precision: 2² / 2 + (1² + 1²) / 2 + 2² / 4 = 2 + 1 + 1 = 4, of 8 mentions: 1/2.
    #
    # CEAF. phi4({abc}, {ab}) = 2 * 2 / 5 = 4/5, phi4({abc}, {cd}) = 2/5, phi4({defg}, {cd}) = 2/6,
    # phi4({defg}, {fghi}) = 4/8. The best alignment: 4/5 + 1/2 = 13/10. Recall 13/10 of 2 clusters,
    # precision of 3.
    (
        "abc defg", "ab cd fghi",
        {"muc": (2 / 5, 2 / 5), "b_cubed": (1 / 2, 5 / 12), "ceaf": (13 / 30, 13 / 20)},
    ),
    # The same clusters.
    ("ab cde", "edc ba", {"muc": (1, 1), "b_cubed": (1, 1), "ceaf": (1, 1)}),
    # All in one. MUC: recall (1 + 1) / (1 + 1); precision: {abcd} into ab | cd: 2 of 3. B-cubed:
    # recall (2²/2 + 2²/2) / 4 = 1, precision ((2² + 2²) / 4) / 4 = 1/2. CEAF: each phi4 is
    # 2 * 2 / 6 = 2/3, and one of the two is aligned: recall 2/3 / 2 = 1/3, precision 2/3.
    ("ab cd", "abcd", {"muc": (2 / 3, 1), "b_cubed": (1 / 2, 1), "ceaf": (2 / 3, 1 / 3)}),
    # Singletons have no links, and count elsewhere. Key {ab} {c}, response {ab} {d}. MUC 1 of 1.
    # B-cubed: recall (2²/2 + 0) / 3 = 2/3, precision likewise 2/3. CEAF: 1 of 2 and 1 of 2.
    ("ab c", "ab d", {"muc": (1, 1), "b_cubed": (2 / 3, 2 / 3), "ceaf": (1 / 2, 1 / 2)}),
    # Singletons alone: no link on either side, so MUC is 0 by the scorer's convention.
    ("a b", "a b", {"muc": (0, 0), "b_cubed": (1, 1), "ceaf": (1, 1)}),
    ("ab", "", {"muc": (0, 0), "b_cubed": (0, 0), "ceaf": (0, 0)}),
    ("", "ab", {"muc": (0, 0), "b_cubed": (0, 0), "ceaf": (0, 0)}),
    ("", "", {"muc": (0, 0), "b_cubed": (0, 0), "ceaf": (0, 0)}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "response", "expected"), FIXTURES)
def test_fixtures_by_hand(key: str, response: str, expected: Any) -> None:
    for name, found in scores(key, response).items():
        precision, recall = expected[name]
        assert found.precision == pytest.approx(precision), name
        assert found.recall == pytest.approx(recall), name
        both = precision + recall
        assert found.f1 == pytest.approx(2 * precision * recall / both if both else 0), name


def test_documents_are_summed_before_they_are_divided() -> None:
    # The first and the third fixture. MUC: recall (2 + 2) / (5 + 2) = 4/7, precision
    # (2 + 2) / (5 + 3) = 1/2, F1 2 * 4/7 * 1/2 / (4/7 + 1/2) = 8/15. B-cubed: recall
    # (35/12 + 4) / (7 + 4) = 83/132, precision (4 + 2) / (8 + 4) = 1/2. CEAF: recall
    # (13/10 + 2/3) / (2 + 2) = 59/120, precision (59/30) / (3 + 1) = 59/120.
    # Mentions: 6 of the 8 given and of the 7 right, and all 4: 10/12 and 10/11, F1 20/23.
    found = evaluate_clusters(
        [clusters("abc defg"), clusters("ab cd")], [clusters("ab cd fghi"), clusters("abcd")]
    )
    assert found.muc.f1 == pytest.approx(8 / 15)
    b_cubed = 2 * 83 / 132 * 1 / 2 / (83 / 132 + 1 / 2)
    assert found.b_cubed.f1 == pytest.approx(b_cubed)
    assert (found.ceaf.precision, found.ceaf.recall) == pytest.approx((59 / 120, 59 / 120))
    assert found.mentions.f1 == pytest.approx(20 / 23)
    assert found.score == pytest.approx((8 / 15 + b_cubed + 59 / 120) / 3)
    assert (found.metric, found.n_documents) == ("CoNLL F1", 2)
    assert list(found.figures()) == ["CoNLL F1", "MUC", "B³", "CEAF-φ4", "mentions"]


@pytest.mark.parametrize("seed", range(5))
def test_ceaf_takes_the_best_of_all_alignments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sides = []
    for _ in range(2):
        split: list[list[str]] = [[], [], [], []]
        for mention in rng.permutation(list("abcdefghij"))[:8].tolist():
            split[rng.integers(4)].append(mention)
        sides.append([cluster for cluster in split if cluster])
    key, response = sides
    best = max(
        sum(
            2 * len(set(a) & set(b)) / (len(a) + len(b))
            for a, b in zip(key, [*some, *[[]] * len(key)], strict=False)
        )
        for some in permutations([*response, *[[]] * len(key)], len(key))
    )
    found = scores(" ".join(map("".join, key)), " ".join(map("".join, response)))["ceaf"]
    assert found.recall == pytest.approx(best / len(key))
    assert found.precision == pytest.approx(best / len(response))
