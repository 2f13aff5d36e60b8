"""Right labels and predicted labels in, scores out: accuracy, F1 of labels, F1 of spans."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from elmore.tasks.schemes import spans_of


@dataclass(frozen=True)
class ClassScore:
    """The scores of one label or type of span."""

    precision: float
    recall: float
    f1: float
    support: int
    """How often it occurs."""


@dataclass(frozen=True)
class Evaluation:
    """The score of a task; each kind of task adds its own."""

    metric: str
    """What `score` is, such as "accuracy" or "span F1"."""
    score: float
    """What early stopping goes by, from 0 to 1."""

    def figures(self) -> dict[str, float]:
        """Return the scores of all examples by name, from 0 to 1."""
        return {self.metric: self.score}


@dataclass(frozen=True)
class LabelEvaluation(Evaluation):
    """The scores of a task whose answers are labels."""

    accuracy: float
    """The share of labels, or of tags, that is correct."""
    macro_f1: float
    """The mean F1 of all labels or types of spans."""
    classes: dict[str, ClassScore]
    confusion: dict[str, dict[str, int]]
    """Counts by right label, then predicted label; empty for spans."""

    def figures(self) -> dict[str, float]:
        """Return the scores by name."""
        return super().figures() | {"macro F1": self.macro_f1, "accuracy": self.accuracy}


def evaluate_labels(right: Sequence[str], given: Sequence[str]) -> LabelEvaluation:
    """Compare labels."""
    confusion: dict[str, dict[str, int]] = {}
    for label, found in zip(right, given, strict=True):
        row = confusion.setdefault(label, {})
        row[found] = row.get(found, 0) + 1
    labels = sorted(set(right) | set(given))
    n_right, n_given = Counter(right), Counter(given)
    both = Counter(a for a, b in zip(right, given, strict=True) if a == b)
    classes = {label: _class_score(both[label], n_given[label], n_right[label]) for label in labels}
    accuracy = both.total() / len(right) if right else 0.0
    return LabelEvaluation("accuracy", accuracy, accuracy, _macro(classes), classes, confusion)


def evaluate_spans(
    right: Sequence[Sequence[str]], given: Sequence[Sequence[str]]
) -> LabelEvaluation:
    """Compare the spans of tagged sentences: a span counts if its boundaries and type are right."""
    n_right: Counter[str] = Counter()
    n_given: Counter[str] = Counter()
    both: Counter[str] = Counter()
    n_tags = n_same = 0
    for tags, found in zip(right, given, strict=True):
        spans, found_spans = set(spans_of(tags)), set(spans_of(found))
        n_right.update(span.kind for span in spans)
        n_given.update(span.kind for span in found_spans)
        both.update(span.kind for span in spans & found_spans)
        n_tags += len(tags)
        n_same += sum(a == b for a, b in zip(tags, found, strict=True))
    kinds = sorted(set(n_right) | set(n_given))
    classes = {kind: _class_score(both[kind], n_given[kind], n_right[kind]) for kind in kinds}
    overall = _class_score(both.total(), n_given.total(), n_right.total())
    accuracy = n_same / n_tags if n_tags else 0.0
    return LabelEvaluation("span F1", overall.f1, accuracy, _macro(classes), classes, {})


def evaluate_tags(
    right: Sequence[Sequence[str]], given: Sequence[Sequence[str]]
) -> LabelEvaluation:
    """Compare the tags of words."""
    return evaluate_labels(_flat(right), _flat(given))


def _flat(sentences: Sequence[Sequence[str]]) -> list[str]:
    return [tag for tags in sentences for tag in tags]


def _class_score(n_both: int, n_given: int, n_right: int) -> ClassScore:
    precision = n_both / n_given if n_given else 0.0
    recall = n_both / n_right if n_right else 0.0
    f1 = 2 * precision * recall / (precision + recall) if n_both else 0.0
    return ClassScore(precision, recall, f1, n_right)


def _macro(classes: dict[Hashable, ClassScore] | dict[str, ClassScore]) -> float:
    return sum(score.f1 for score in classes.values()) / len(classes) if classes else 0.0
