"""What a task is made of: a reader, its answers, a network, a metric. All else is the same for all.

    X -reader-> readings -inputs-> token vectors -network-> scores -answers-> predictions
    y -answers-> targets -network.loss-> training;  y, predictions -metric-> score

A `Task` is given to one estimator (estimator.py: fit, predict, evaluate, save, load), one training
loop (fit.py) and one comparison (compare.py), which know nothing of labels, tags or spans. A new
task is a reader and answers for its examples (as in questions.py), a network with a `loss` of its
own, a metric, its settings (settings.py), and an estimator of a few lines that puts them together
(answer.py).

- A *reading* is an example as a network reads it: one or more texts, each of one or more sentences,
  and whatever else the network or the answers need of it, as fields of a subclass.
- *Answers* know both ways between what users give and get and what a network is trained on and
  scores. What they must know of the training set (its labels) they learn before the network is
  made; it is saved with the weights.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from elmore.tasks.examples import Examples
from elmore.tasks.input_networks import TokenBatch, TokenInput
from elmore.tasks.inputs import Input
from elmore.tasks.layer_cache import TokenTuple
from elmore.tasks.metrics import Evaluation
from elmore.text import Token

Text = tuple[TokenTuple, ...]
"""The sentences of a text."""
NewTokenInput = Callable[[], TokenInput]


@dataclass(frozen=True)
class Reading:
    """An example as a network reads it."""

    texts: tuple[Text, ...]

    @property
    def n_tokens(self) -> int:
        """The tokens of all its texts."""
        return sum(len(sentence) for text in self.texts for sentence in text)


class Batch(NamedTuple):
    """Some examples as tensors."""

    sides: tuple[TokenBatch, ...]
    """The first text of each example; the second of each, if they have two."""
    readings: Sequence[Any]
    """The examples."""
    targets: Tensor | None
    """Those of all examples; None where there are none to learn from."""


class Part(NamedTuple):
    """A part of an example whose reading has one text."""

    reading: Reading
    target: Any
    sentences: slice
    """Which sentences of the text."""


class Words(ABC):
    """Splits raw text into words; see `FeatureExtractor`."""

    @abstractmethod
    def tokens(self, text: str) -> list[Token]:
        """Return the words of a string, with their character spans."""

    @abstractmethod
    def tokenize(self, text: Any, place: int) -> TokenTuple:
        """Return the words of a string; a sequence of tokens stays as it is.

        `place` is which example it is of, for the error if it is neither.
        """


class Reader(ABC):
    """Turns examples as users give them into readings."""

    def check(self, examples: Examples) -> None:  # noqa: B027  most tasks take any
        """Refuse examples that cannot be learned from."""

    @abstractmethod
    def read(self, X: Sequence[Any], words: Words) -> Sequence[Reading]:
        """Return the reading of each example."""

    def tokenized(self, X: Sequence[Any], words: Words) -> list[Any]:
        """Return the same examples in a form of which no raw text is left to tokenize."""
        return list(X)

    def training(
        self, readings: Sequence[Any], y: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return what is learned from: the same, or parts of what is too long, with their answers.

        There may be more or fewer than there are examples.
        """
        return readings, y


class Answers(ABC):
    """Turns answers into targets, and scores into answers."""

    labels: list[Any]
    """What was learned of the training set's answers: its labels, sorted."""
    scores_weight: str | None = None
    """The weight that has one number for each of `n_scored`, if one has."""

    def __init__(self) -> None:
        self.labels = []

    @property
    def n_scored(self) -> int:
        """How many labels the network scores."""
        return len(self.labels)

    def labels_of(self, y: Sequence[Any]) -> list[Any]:
        """Return the labels of some answers, all of which a training set must have."""
        return []

    def learn(self, train: Examples, dev: Examples) -> None:  # noqa: B027  some have no labels
        """Learn what there is to know of the answers before the network is made."""

    def check(self, y: Sequence[Any]) -> None:  # noqa: B027
        """Refuse answers that predictions cannot be compared with."""

    @abstractmethod
    def targets(self, readings: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """Return answers as the numbers that the loss is computed on, of each example."""

    @abstractmethod
    def decode(self, network: Any, scores: Any, batch: Batch) -> list[Any]:
        """Return the predictions of a network's scores."""


@dataclass(frozen=True)
class Task:
    """The parts of one task."""

    reader: Reader
    answers: Answers
    network: Callable[[NewTokenInput], nn.Module]
    """Makes a network that gives scores of a `Batch` and, as `loss`, its own loss, and has a
    `TokenInput` as `tokens`. Called when the answers have learned."""
    metric: Callable[[Sequence[Any], Sequence[Any]], Evaluation]
    """Compares right answers with predictions."""
    inputs: tuple[Input, ...] = ()
    """Inputs of its own, after static vectors and ELMo."""
    max_predicted: int = 64
    """Examples in a batch of predictions, at most."""
    part: Callable[[Any, Any, random.Random], Part] | None = None
    """Takes a reading and its target; chooses the part that an epoch learns from. None: all."""


def as_tensor(targets: Sequence[Any]) -> Tensor:
    """Put targets together: numbers as (B,), lists as (B, longest), 0 at padding."""
    chosen = [torch.as_tensor(target) for target in targets]
    if chosen[0].ndim == 0:
        return torch.stack(chosen)
    return torch.nn.utils.rnn.pad_sequence(chosen, batch_first=True)
