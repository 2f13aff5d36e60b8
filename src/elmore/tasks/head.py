"""What one task adds to the shared estimator: how its examples read, its network, its metric.

A new task is a head, a network (networks.py) and an estimator of a few lines (classify.py, tag.py)
that makes the head from its settings. Vectors, training, files and scikit-learn's conventions are
the estimator's (estimator.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

from torch import Tensor, nn

from elmore.tasks.examples import Examples
from elmore.tasks.features import ExampleTexts, Tokenize
from elmore.tasks.inputs import TokenInput
from elmore.tasks.metrics import Evaluation
from elmore.tasks.networks import Batch
from elmore.text import CharEncoder

TaskName = Literal["classify", "tag", "pair"]


class TaskHead(ABC):
    """A task without its vectors and weights; `labels` are set before a network is made."""

    characters: CharEncoder | None = None
    """For a network with a character CNN of its own."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        """The labels of the training set, sorted; saved with the weights."""

    @property
    def n_scored(self) -> int:
        """How many labels the network scores."""
        return len(self.labels)

    def check(self, examples: Examples) -> None:  # noqa: B027  most tasks take any
        """Refuse examples that cannot be learned from."""

    @abstractmethod
    def texts(self, X: Sequence[Any], tokenize: Tokenize) -> ExampleTexts:
        """Return the tokens of one or two texts of each example."""

    @abstractmethod
    def labels_of(self, y: Sequence[Any]) -> list[str]:
        """Return all labels of some answers."""

    @abstractmethod
    def targets(self, y: Sequence[Any]) -> list[Any]:
        """Return answers as the numbers that the loss is computed on."""

    @abstractmethod
    def network(self, tokens: TokenInput) -> nn.Module:
        """Return a new network, which gives scores and, as `loss`, its own loss."""

    @abstractmethod
    def decode(self, network: Any, scores: Tensor, batch: Batch) -> list[Any]:
        """Return the predictions of a network's scores."""

    @abstractmethod
    def probabilities(self, network: Any, scores: Tensor, batch: Batch) -> list[Any]:
        """Return the probability of each label, (K,) or (words, K) for each example."""

    @abstractmethod
    def evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> Evaluation:
        """Compare predicted answers with the right ones."""

    def tokenized(self, examples: Examples, tokenize: Tokenize) -> Examples:
        """Return the examples with their raw texts tokenized."""
        return examples
