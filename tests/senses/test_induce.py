"""Senses are found where there are some, as many as there are."""

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError
from elmore.senses.index import Occurrence, OccurrenceIndex
from elmore.senses.induce import (
    Views,
    context_states,
    find_groups,
    find_senses,
    other_occurrences,
    views_of,
)
from elmore.senses.topics import topic_vectors
from elmore.senses.wsd import label_senses
from tests.senses.bank_sentences import MONEY, RIVER, occurrences, sentences


def views(labels: np.ndarray, rng: np.random.Generator, *, apart: float) -> Views:
    """Groups of points around means of their own, in either view."""
    n_groups = int(labels.max()) + 1
    made = []
    for _ in range(2):
        middles = apart * rng.normal(size=(n_groups, 30))
        made.append((middles[labels] + rng.normal(size=(len(labels), 30))).astype(np.float32))
    return Views(*made)


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_as_many_groups_as_there_are(n_groups: int) -> None:
    rng = np.random.default_rng(1)
    sizes = [60 + 20 * k for k in range(n_groups)]
    right = np.repeat(np.arange(n_groups), sizes)
    made = views(right, rng, apart=6)
    found = find_groups(made)
    assert np.bincount(found.labels).tolist() == sizes[::-1]  # the largest first
    np.testing.assert_array_equal(found.labels, n_groups - 1 - right)
    assert found.agreement == (1 if n_groups > 1 else 0)
    assert find_groups(made, max_groups=1).labels.max() == 0
    few = Views(made.expected[:9], made.topics[:9])
    assert find_groups(few).labels.max() == 0  # too few to tell
    with pytest.raises(ConfigError, match="max_groups is 0"):
        find_groups(made, max_groups=0)


def test_views_that_do_not_agree_show_one_sense() -> None:
    """Groups in one view alone, and no groups at all."""
    rng = np.random.default_rng(1)
    for apart in (6, 0):
        made = views(np.arange(120) % 2, rng, apart=apart)
        shuffled = Views(made.expected, rng.permutation(made.topics))
        assert find_groups(shuffled, max_groups=4).labels.max() == 0


def test_copies_of_one_occurrence() -> None:
    same = np.ones((20, 5), np.float32)
    assert find_groups(Views(same, same)).labels.tolist() == [0] * 20


def test_the_views_of_an_occurrence(english: Elmo) -> None:
    """The word itself is in neither; the topic is that of the rarer words around."""
    lines = ["the bank of the river", "the shore of the river", "of the the bank river", "bank"]
    made = [
        Occurrence(word, tuple(line.split()), line.split().index(word))
        for word, line in zip(["bank", "shore", "bank", "bank"], lines, strict=True)
    ]
    found = views_of(english, made, context_states(english, made))
    np.testing.assert_array_equal(found.expected[0], found.expected[1])
    np.testing.assert_array_equal(found.topics[0], found.topics[1])
    np.testing.assert_array_equal(found.topics[0], found.topics[2])  # in any order
    assert abs(found.expected[0] - found.expected[2]).max() > 0.01
    np.testing.assert_allclose(np.linalg.norm(found.topics, axis=1), [1, 1, 1, 0], atol=1e-5)
    rivers = topic_vectors(english, [Occurrence("x", ("x", "river"), 0)])
    assert float(rivers[0] @ found.topics[0]) > 0.9


def test_a_model_without_a_softmax(tiny_elmo: Elmo) -> None:
    """Senses are found by spelling alone, and there are no substitutes."""
    found = find_senses(tiny_elmo, occurrences(sentences(RIVER, 30, 1) + sentences(MONEY, 30, 2)))
    assert sum(len(sense.rows) for sense in found) == 60
    assert [sense.substitutes for sense in found] == [[]] * len(found)
    assert all(sense.keywords for sense in found)


def test_senses_and_their_keywords(english: Elmo) -> None:
    found = find_senses(english, occurrences(sentences(RIVER, 40, 1) + sentences(MONEY, 60, 2)))
    assert [sense.name for sense in found] == ["1", "2"]
    assert [sense.share for sense in found] == pytest.approx([0.6, 0.4], abs=0.03)
    assert set(found[0].keywords[:5]) == set(MONEY)
    assert set(found[1].keywords[:5]) == set(RIVER)
    assert (found[1].rows[:20] < 40).all()  # the most typical first
    with pytest.raises(DataError, match="'bank' occurs once; senses need several"):
        find_senses(english, occurrences(["a bank"]))


def test_others_are_drawn_without_a_list_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Huge:
        """An index of 10^12 occurrences, every third of the first 300 of the word."""

        def __len__(self) -> int:
            return 10**12

        def rows(self, word: str) -> np.ndarray:
            return np.arange(0, 300, 3)

        def occurrence(self, row: int) -> int:
            return row

    found = np.array(other_occurrences(Huge(), "bank"))  # type: ignore[arg-type]
    assert len(set(found.tolist())) == len(found) > 10
    small = Huge()
    monkeypatch.setattr(Huge, "__len__", lambda self: 300)
    found = np.array(other_occurrences(small, "bank"))  # type: ignore[arg-type]
    assert sorted(found.tolist()) == [row for row in range(300) if row % 3]
    expected = np.setdiff1d(np.arange(300), small.rows("bank"))
    drawn = np.random.default_rng(1).choice(expected, 200, replace=False)
    assert found.tolist() == drawn.tolist()


def test_a_single_sense_is_told_from_other_words(
    english: Elmo, old_and_new: tuple[OccurrenceIndex, OccurrenceIndex]
) -> None:
    index = old_and_new[1]
    others = other_occurrences(index, "boat")
    assert len(others) == len(index) - len(index.rows("boat"))
    assert all(one.word != "boat" for one in others)
    banks = occurrences([f"the bank of the {word} is the water" for word in RIVER[:4]])
    (alone,) = find_senses(english, banks)
    assert alone.keywords[:4] == ["water", "boat", "deep", "fish"]  # "is", "of", "the" are none
    elsewhere = [Occurrence("at", ("at", "the", "side", "of", "it", "is"), 0)] * 100
    (told,) = find_senses(english, banks, others=elsewhere)
    assert told.keywords[:4] == ["water", "boat", "deep", "fish"]


def test_what_stands_near_any_word_tells_nothing(english: Elmo) -> None:
    lines = sentences([*RIVER, "fruit"], 40, 1) + sentences(MONEY, 60, 2)
    either = occurrences(lines)
    _, shore = find_senses(english, either)
    assert "fruit" in shore.keywords
    others = [Occurrence("tree", ("tree", *["fruit"] * 5, word), 0) for word in RIVER + MONEY] * 9
    _, shore = find_senses(english, either, others=others)
    assert "fruit" not in shore.keywords
    assert set(shore.keywords[:5]) == set(RIVER)


def test_senses_by_labelled_examples(english: Elmo) -> None:
    labelled = [("shore", one) for one in occurrences(sentences(RIVER, 5, 3))]
    labelled += [("house", one) for one in occurrences(sentences(MONEY, 5, 4))]
    lines = sentences(RIVER, 10, 1) + sentences(MONEY, 30, 2)
    shore, house = label_senses(english, occurrences(lines), labelled)
    assert (shore.name, house.name) == ("shore", "house")
    assert len(shore.rows) + len(house.rows) == 40
    assert np.mean(shore.rows < 10) > 0.5
    with pytest.raises(DataError, match="or none is labelled"):
        label_senses(english, occurrences(lines), [])
