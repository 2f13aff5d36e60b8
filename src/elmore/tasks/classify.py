"""`Classifier`: a text in, its label out. `PairClassifier`: two texts in, their label out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from elmore.errors import DataError, shown
from elmore.tasks.base import ClassifierMixin
from elmore.tasks.estimator import TaskModel
from elmore.tasks.examples import Examples
from elmore.tasks.label_answers import LabelAnswers
from elmore.tasks.metrics import LabelEvaluation, evaluate_labels
from elmore.tasks.networks import PairNetwork, TextNetwork, class_weights
from elmore.tasks.settings import ClassWeight, LabelSettings, TaskName
from elmore.tasks.task import Batch, Reader, Reading, Task, Words

Label = str | int | bool


class TextReader(Reader):
    """Each example is a text."""

    def read(self, X: Sequence[Any], words: Words) -> list[Reading]:
        """Return the tokens of each text."""
        return [Reading(((tokens,),)) for tokens in self.tokenized(X, words)]

    def tokenized(self, X: Sequence[Any], words: Words) -> list[Any]:
        """Return the tokens of each text."""
        return [words.tokenize(text, place) for place, text in enumerate(X)]


class PairReader(Reader):
    """Each example is a pair of texts."""

    def read(self, X: Sequence[Any], words: Words) -> list[Reading]:
        """Return the tokens of both texts of each pair."""
        return [Reading(((first,), (second,))) for first, second in self.tokenized(X, words)]

    def tokenized(self, X: Sequence[Any], words: Words) -> list[Any]:
        """Return the tokens of both texts of each pair."""
        for place, pair in enumerate(X):
            if (
                not isinstance(pair, Sequence | np.ndarray)
                or isinstance(pair, str)
                or len(pair) != 2
            ):
                raise DataError(f"example {place} is {shown(pair)}; expected a pair of texts")
        return [
            (words.tokenize(first, place), words.tokenize(second, place))
            for place, (first, second) in enumerate(X)
        ]


class ExampleLabels(LabelAnswers):
    """One label for each example."""

    scores_weight = "classify.bias"

    def __init__(self, class_weight: ClassWeight) -> None:
        super().__init__()
        self.class_weight: ClassWeight = class_weight
        self.class_weights: Tensor | None = None
        """Of the training set, (K,)."""

    def labels_of(self, y: Sequence[Any]) -> list[Label]:
        """Return the labels, all of one type."""
        labels = [_label(one) for one in y]
        kinds = sorted({type(label).__name__ for label in labels})
        if len(kinds) > 1:
            raise DataError(f"labels are of the types {', '.join(kinds)}; expected one type")
        return labels

    def learn(self, train: Examples, dev: Examples) -> None:
        """Take the labels of the training set, and weigh them in the loss if asked to."""
        super().learn(train, dev)
        given = self.labels_of(train.y)
        self.class_weights = class_weights(self.class_weight, self.labels, given)

    def targets(self, readings: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """Return the number of each label."""
        rows = {label: row for row, label in enumerate(self.labels)}
        return [rows[label] for label in self.labels_of(y)]

    def decode(self, network: Any, scores: Any, batch: Batch) -> list[Any]:
        """Return the label with the highest score of each example."""
        return [self.labels[row] for row in scores.argmax(1).tolist()]

    def probabilities(self, network: Any, scores: Any, batch: Batch) -> list[Any]:
        """Return the softmax of the scores, (K,) for each example."""
        return list(scores.double().softmax(1).numpy())

    def evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> LabelEvaluation:
        """Return the accuracy; a file has its labels as strings, whatever they were trained as."""
        return evaluate_labels(
            [str(label) for label in self.labels_of(right)], [str(label) for label in given]
        )


def _label(given: Any) -> Label:
    """Return a label as a plain string, whole number or boolean."""
    value = given.item() if isinstance(given, np.generic) else given
    if isinstance(value, str):
        return str.__str__(value)  # also of an enumeration
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) < 2**63:  # which is as many as an array takes
        return int(value)
    raise DataError(
        f"the label {shown(given)} is of type {type(given).__name__}; expected strings, whole "
        "numbers or booleans"
    )


class LabelModel(LabelSettings, ClassifierMixin, TaskModel):  # type: ignore[misc]
    """What both estimators have in common: a label for each example."""

    reader: ClassVar[type[Reader]]
    network: ClassVar[type[TextNetwork | PairNetwork]]

    def _new_task(self) -> Task:
        answers = ExampleLabels(self.class_weight)
        return Task(
            self.reader(),
            answers,
            lambda new_tokens: self.network(
                new_tokens(), len(answers.labels), hidden_dim=self.hidden_dim,
                dropout=self.dropout, class_weights=answers.class_weights,
            ),
            answers.evaluate,
        )  # fmt: skip

    def predict(self, X: Sequence[Any]) -> npt.NDArray[Any]:
        """Return the label of each example, of the type that the labels were given in."""
        return np.array(self._predict(X), self.classes_.dtype)

    def predict_proba(self, X: Sequence[Any]) -> npt.NDArray[np.float64]:
        """Return the probability of each label, in the order of `classes_`, (examples, K)."""
        found = self._predict(X, self._answers.probabilities)
        return np.array(found).reshape(len(found), len(self.classes_))

    def predict_with_proba(self, X: Sequence[Any]) -> list[tuple[Label, npt.NDArray[np.float64]]]:
        """Return the label of each example with the probability of each label, in one run."""
        return self._predict(X, self._answers.decode_with_probabilities)

    @property
    def _answers(self) -> ExampleLabels:
        answers = self._task.answers
        assert isinstance(answers, ExampleLabels)
        return answers


@dataclass(repr=False, eq=False)
class Classifier(LabelModel):
    """Classifies texts: a biLSTM with attentive pooling on [static; ELMo].

    Texts are strings or lists of tokens; labels are strings, whole numbers or booleans.
    """

    task: ClassVar[TaskName] = "classify"
    reader = TextReader
    network = TextNetwork


@dataclass(repr=False, eq=False)
class PairClassifier(LabelModel):
    """Classifies pairs of texts, such as whether one entails the other (ESIM)."""

    task: ClassVar[TaskName] = "pair"
    reader = PairReader
    network = PairNetwork
