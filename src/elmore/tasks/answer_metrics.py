"""Exact match and F1 of answers, as the official scripts of SQuAD v1.1 and v2.0 define them.

Both compare normalized strings: lower case, without punctuation, without articles, white space
collapsed. The best of several right answers counts. Where there is no answer, the right answer is
the empty string.
"""

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from elmore.tasks.metrics import Evaluation

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


@dataclass(frozen=True)
class AnswerEvaluation(Evaluation):
    """The scores of a question answerer."""

    exact_match: float
    """The share of questions that are answered by one of the right answers."""
    answerable_f1: float | None
    """F1 of the questions that have an answer; None if there is none of them."""
    unanswerable_f1: float | None
    """The share of the questions without an answer that are given none."""
    n_questions: int

    def figures(self) -> dict[str, float]:
        """Return the scores by name."""
        found = super().figures() | {"exact match": self.exact_match}
        if self.answerable_f1 is not None and self.unanswerable_f1 is not None:
            found |= {"answerable": self.answerable_f1, "unanswerable": self.unanswerable_f1}
        return found


def normalize_answer(text: str) -> str:
    """Return what is compared of an answer."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(right: str, given: str) -> float:
    """Return 1 if the answers are the same, else 0."""
    return float(normalize_answer(right) == normalize_answer(given))


def answer_f1(right: str, given: str) -> float:
    """Return the F1 of the words of two answers."""
    a, b = normalize_answer(right).split(), normalize_answer(given).split()
    if not a or not b:
        return float(a == b)
    n_both = (Counter(a) & Counter(b)).total()
    return 2 * n_both / (len(a) + len(b))


def evaluate_answers(right: Sequence[Sequence[str]], given: Sequence[str]) -> AnswerEvaluation:
    """Compare answers with the right ones of each question: none if it has no answer."""
    exact, f1 = [], []
    answerable = []
    for texts, found in zip(right, given, strict=True):
        wanted = [text for text in texts if normalize_answer(text)] or [""]
        exact.append(max(exact_match(text, found) for text in wanted))
        f1.append(max(answer_f1(text, found) for text in wanted))
        answerable.append(any(texts))
    by_kind = {
        kind: [score for score, has in zip(f1, answerable, strict=True) if has is kind]
        for kind in (True, False)
    }
    means = {kind: _mean(scores) if scores else None for kind, scores in by_kind.items()}
    return AnswerEvaluation("F1", _mean(f1), _mean(exact), means[True], means[False], len(f1))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
