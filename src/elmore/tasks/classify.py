"""`Classifier`: a text in, its label out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from elmore.errors import DataError
from elmore.tasks.base import ClassifierMixin
from elmore.tasks.estimator import TaskModel
from elmore.tasks.inputs import TokenInput
from elmore.tasks.layer_cache import Tokens
from elmore.tasks.metrics import Evaluation, evaluate_labels
from elmore.tasks.networks import Batch, PairNetwork, TextNetwork
from elmore.tasks.readers import Examples


class _Labels(ClassifierMixin, TaskModel):  # type: ignore[misc]
    """What texts and pairs share: a label for each."""

    def predict(self, X: Sequence[Any]) -> npt.NDArray[Any]:
        """Return the label of each."""
        return np.array(self._predict(X, self._decode))

    def predict_proba(self, X: Sequence[Any]) -> npt.NDArray[np.float64]:
        """Return the probability of each label, in the order of `classes_`, (examples, K)."""
        found = self._predict(X, lambda scores, _: list(scores.double().softmax(1).numpy()))
        return np.array(found).reshape(len(found), len(self.classes_))

    def tokenized(self, examples: Examples) -> Examples:
        """Return the examples with their raw texts cut into tokens, as this task cuts them."""
        self._open()
        sides = self._sides(examples.X)
        return Examples(sides[0] if len(sides) == 1 else list(zip(*sides, strict=True)), examples.y)

    def _labels_of(self, y: Sequence[Any]) -> list[str]:
        return [str(label) for label in y]

    def _targets(self, y: Sequence[Any]) -> list[Any]:
        rows = {label: row for row, label in enumerate(self.classes_)}
        return [rows[str(label)] for label in y]

    def _decode(self, scores: Tensor, batch: Batch) -> list[Any]:
        return [str(label) for label in self.classes_[scores.argmax(1).numpy()]]

    def _evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> Evaluation:
        return evaluate_labels(self._labels_of(right), self._labels_of(given))


@dataclass(repr=False, eq=False)
class Classifier(_Labels):
    """Gives a text its label: a biLSTM with attentive pooling on [static; ELMo].

    Texts are strings or lists of tokens; labels are strings, or become them.
    """

    task: ClassVar[str] = "classify"

    def _sides(self, X: Sequence[Any]) -> tuple[list[Tokens], ...]:
        return ([self._tokens(text) for text in X],)

    def _make_network(self, tokens: TokenInput) -> nn.Module:
        return TextNetwork(
            tokens, len(self.classes_), hidden_dim=self.hidden_dim, dropout=self.dropout
        )


@dataclass(repr=False, eq=False)
class PairClassifier(_Labels):
    """Gives a pair of texts its label, such as whether one follows from the other (ESIM)."""

    task: ClassVar[str] = "pair"

    def _sides(self, X: Sequence[Any]) -> tuple[list[Tokens], ...]:
        for place, pair in enumerate(X):
            if isinstance(pair, str) or len(pair) != 2:
                raise DataError(f"example {place} is {pair!r}; expected a pair of texts")
        return tuple([self._tokens(pair[side]) for pair in X] for side in (0, 1))

    def _make_network(self, tokens: TokenInput) -> nn.Module:
        return PairNetwork(
            tokens, len(self.classes_), hidden_dim=self.hidden_dim, dropout=self.dropout
        )
