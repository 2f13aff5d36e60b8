"""Exact match and F1 are those of the official scripts."""

import pytest

from elmore.tasks.answer_metrics import (
    answer_f1,
    evaluate_answers,
    exact_match,
    normalize_answer,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Cat", "cat"),
        ("an  apple\ta day", "apple day"),
        ("U.S.A.", "usa"),
        ("a-b", "ab"),  # the hyphen goes first, so that there is no article
        ("theatre", "theatre"),
        ("“the”", "“ ”"),  # string.punctuation is ASCII only
        ("10 July 1856", "10 july 1856"),
        ("The", ""),
        ("", ""),
    ],
)
def test_normalization(text: str, expected: str) -> None:
    assert normalize_answer(text) == expected


def test_words_in_common() -> None:
    assert answer_f1("the white house", "White House!") == 1.0
    assert answer_f1("the white house", "house") == pytest.approx(2 / 3)
    assert answer_f1("very very good", "very good") == pytest.approx(0.8)  # words are counted
    assert answer_f1("red", "blue") == 0.0
    assert exact_match("The white house.", "white house") == 1.0
    assert exact_match("white house", "house") == 0.0


def test_no_answer_is_right_or_wrong_altogether() -> None:
    assert answer_f1("", "") == 1.0
    assert answer_f1("", "house") == answer_f1("house", "") == 0.0
    assert answer_f1("the", "a") == 1.0  # nothing is left of either


def test_the_best_of_several_right_answers_counts() -> None:
    found = evaluate_answers([["10 July 1856", "1856"], [], ["red"]], ["1856", "", "light red"])
    assert (found.metric, found.n_questions) == ("F1", 3)
    assert found.score == pytest.approx((1 + 1 + 2 / 3) / 3)
    assert found.exact_match == pytest.approx(2 / 3)
    assert found.answerable_f1 == pytest.approx((1 + 2 / 3) / 2)
    assert found.unanswerable_f1 == 1.0
    assert evaluate_answers([["red"]], [""]).unanswerable_f1 is None
    article = evaluate_answers([["the"]], ["a"])
    assert (article.answerable_f1, article.unanswerable_f1) == (1.0, None)
