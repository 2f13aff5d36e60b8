"""Answers that are labels from a fixed set, one or more for each example."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from elmore.errors import DataError
from elmore.tasks.examples import Examples, label_set
from elmore.tasks.task import Answers, Batch


class LabelAnswers(Answers):
    """Labels of the training set, and no others."""

    def learn(self, train: Examples, dev: Examples) -> None:
        """Take the labels of the training set."""
        self.labels = label_set(train, dev, self.labels_of)

    def check(self, y: Sequence[Any]) -> None:
        """Refuse answers none of which is known."""
        labels = list(dict.fromkeys(self.labels_of(y)))
        if not set(map(str, labels)) & set(map(str, self.labels)):
            raise DataError(
                f"the task knows none of the examples' labels ({_some(labels)}), but "
                f"{_some(self.labels)}; give examples with labels, in the format of "
                "those it was trained on"
            )

    @abstractmethod
    def probabilities(self, network: Any, scores: Any, batch: Batch) -> list[Any]:
        """Return the probability of each label, for each example or each of its words."""

    def decode_with_probabilities(
        self, network: Any, scores: Any, batch: Batch
    ) -> list[tuple[Any, Any]]:
        """Return the prediction of each example with the probabilities."""
        predicted = self.decode(network, scores, batch)
        return list(zip(predicted, self.probabilities(network, scores, batch), strict=True))


def _some(labels: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, labels[:5]))
    return shown + ", …" * (len(labels) > 5)
