"""Labelled examples: what a task is trained on, or evaluated on, and how a dev set is held out."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from elmore.embed.texts import as_list
from elmore.errors import ConfigError, DataError

LabelsOf = Callable[[Sequence[Any]], list[Any]]
"""Returns all labels of some answers: of tagged sentences, those of all their words."""


class Clause(NamedTuple):
    """A sentence and its predicate, whose semantic roles are asked for."""

    tokens: list[str]
    place: int
    """Which of the tokens is the predicate."""


@dataclass(frozen=True)
class Examples:
    """What a task is trained on, or evaluated on."""

    X: list[Any]
    """Texts; or sentences, lists of tokens; or clauses; or pairs of texts; or questions; or
    documents."""
    y: list[Any]
    """A label for each; or a list of tags, one for each token; or the right answers;
    or clusters of mentions."""

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: slice) -> "Examples":
        return Examples(self.X[rows], self.y[rows])

    def at_most(self, n: int | None) -> "Examples":
        """Return `n` of them at equal distances, in order, as a file may be sorted; None: all."""
        if n is None or n >= len(self):
            return self
        rows = [row * len(self) // n for row in range(n)]
        return Examples([self.X[row] for row in rows], [self.y[row] for row in rows])

    @classmethod
    def of(cls, X: "Sequence[Any] | Examples", y: Sequence[Any] | None = None) -> "Examples":
        """Return the examples that `fit` and `evaluate` are given, one label for each."""
        if not isinstance(X, Examples):
            X = cls(as_list(X, "examples"), as_list([] if y is None else y, "labels"))
        if not len(X) or len(X.X) != len(X.y):
            raise DataError(
                f"there are {len(X.X)} examples and {len(X.y)} labels; "
                "expected one for each, and at least one"
            )
        return X


def examples_hash(*sets: Examples) -> str:
    """Return a hash of sets of examples, such as a training set and a dev set."""
    digest = hashlib.sha256()
    for some in sets:
        digest.update(str(len(some)).encode())
        for example in zip(some.X, some.y, strict=True):
            digest.update(repr(example).encode("utf-8", "replace"))
    return digest.hexdigest()


def hold_out(
    examples: Examples, labels_of: LabelsOf, *, share: float, seed: int
) -> tuple[Examples, Examples]:
    """Split examples at random into a training set and a dev set of this share."""
    if not 0 < share < 1:
        raise ConfigError(f"dev_share is {share}; expected a share between 0 and 1")
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    n_dev = max(1, round(share * len(examples)))
    if n_dev >= len(examples):
        raise DataError(
            f"dev_share is {share}, which leaves none of {len(examples)} examples to train on; "
            "give more, or a dev set"
        )
    known: set[Any] = set()
    train: list[int] = []
    dev: list[int] = []
    for k in order:  # a label that no other example has must stay in training
        labels = set(labels_of([examples.y[k]]))
        (dev if len(dev) < n_dev and labels <= known else train).append(k)
        known |= labels
    if not dev:
        raise DataError("each label has one example only; give a dev set")
    first, second = (
        Examples([examples.X[k] for k in rows], [examples.y[k] for k in rows])
        for rows in (train, dev)
    )
    return first, second


def label_set(train: Examples, dev: Examples, labels_of: LabelsOf) -> list[Any]:
    """Return the labels of the training set, which must have two or more and all of the dev set."""
    labels = sorted(set(labels_of(train.y)))
    if not labels:
        raise DataError("the training examples have no labels; give examples of two or more")
    if len(labels) < 2:
        raise DataError(
            f"all training examples have the label {labels[0]!r}; give examples of two or more"
        )
    unseen = sorted(set(labels_of(dev.y)) - set(labels))
    if unseen:
        raise DataError(
            f"the dev set has {', '.join(map(repr, unseen))}, which the training set has not; "
            "give training examples of each label"
        )
    return labels
