"""`Classifier`: a text in, its label out. `PairClassifier`: two texts in, their label out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from elmore.errors import DataError
from elmore.tasks.base import ClassifierMixin
from elmore.tasks.estimator import TaskModel
from elmore.tasks.examples import Examples
from elmore.tasks.features import ExampleTexts, Tokenize
from elmore.tasks.head import TaskHead, TaskName
from elmore.tasks.inputs import TokenInput
from elmore.tasks.metrics import Evaluation, evaluate_labels
from elmore.tasks.networks import Batch, PairNetwork, TextNetwork

NewNetwork = Callable[..., nn.Module]


class LabelHead(TaskHead):
    """One label for each example, a text or a pair of texts."""

    def __init__(self, network: NewNetwork, *, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self._new_network = network
        self._sizes = {"hidden_dim": hidden_dim, "dropout": dropout}

    def texts(self, X: Sequence[Any], tokenize: Tokenize) -> ExampleTexts:
        """Return the tokens of each text."""
        return ExampleTexts(([tokenize(text) for text in X],))

    def labels_of(self, y: Sequence[Any]) -> list[str]:
        """Return the labels as strings."""
        return [str(label) for label in y]

    def targets(self, y: Sequence[Any]) -> list[Any]:
        """Return the number of each label."""
        rows = {label: row for row, label in enumerate(self.labels)}
        return [rows[str(label)] for label in y]

    def network(self, tokens: TokenInput) -> nn.Module:
        """Return a new network."""
        return self._new_network(tokens, len(self.labels), **self._sizes)

    def decode(self, network: Any, scores: Tensor, batch: Batch) -> list[Any]:
        """Return the label with the highest score of each example."""
        return [self.labels[row] for row in scores.argmax(1).tolist()]

    def probabilities(self, network: Any, scores: Tensor, batch: Batch) -> list[Any]:
        """Return the softmax of the scores, (K,) for each example."""
        return list(scores.double().softmax(1).numpy())

    def evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> Evaluation:
        """Return the accuracy."""
        return evaluate_labels(self.labels_of(right), self.labels_of(given))

    def tokenized(self, examples: Examples, tokenize: Tokenize) -> Examples:
        """Return the examples with their raw texts tokenized."""
        sides = self.texts(examples.X, tokenize).sides
        return Examples(sides[0] if len(sides) == 1 else list(zip(*sides, strict=True)), examples.y)


class PairHead(LabelHead):
    """One label for each pair of texts."""

    def texts(self, X: Sequence[Any], tokenize: Tokenize) -> ExampleTexts:
        """Return the tokens of each first text, and of each second."""
        for place, pair in enumerate(X):
            if isinstance(pair, str) or len(pair) != 2:
                raise DataError(f"example {place} is {pair!r}; expected a pair of texts")
        return ExampleTexts(tuple([tokenize(pair[side]) for pair in X] for side in (0, 1)))


class LabelModel(ClassifierMixin, TaskModel):  # type: ignore[misc]
    """What both estimators have in common: a label for each example."""

    def predict(self, X: Sequence[Any]) -> npt.NDArray[Any]:
        """Return the label of each example."""
        return np.array(self._predict(X, self._head.decode))

    def predict_proba(self, X: Sequence[Any]) -> npt.NDArray[np.float64]:
        """Return the probability of each label, in the order of `classes_`, (examples, K)."""
        found = self._predict(X, self._head.probabilities)
        return np.array(found).reshape(len(found), len(self.classes_))


@dataclass(repr=False, eq=False)
class Classifier(LabelModel):
    """Classifies texts: a biLSTM with attentive pooling on [static; ELMo].

    Texts are strings or lists of tokens; labels are strings, or are made strings.
    """

    task: ClassVar[TaskName] = "classify"

    def _new_head(self) -> TaskHead:
        return LabelHead(TextNetwork, hidden_dim=self.hidden_dim, dropout=self.dropout)


@dataclass(repr=False, eq=False)
class PairClassifier(LabelModel):
    """Classifies pairs of texts, such as whether one entails the other (ESIM)."""

    task: ClassVar[TaskName] = "pair"

    def _new_head(self) -> TaskHead:
        return PairHead(PairNetwork, hidden_dim=self.hidden_dim, dropout=self.dropout)
