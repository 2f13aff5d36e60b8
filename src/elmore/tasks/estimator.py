"""The estimator behind every task: examples in, a trained task out, and its predictions.

What a task adds is in its head (head.py), its vectors come from a `FeatureExtractor` (features.py),
training is `fit` (fit.py), the folder is written by saved.py. The conventions are scikit-learn's.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from elmore.embed import Elmo
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats.arrays import check_arrays
from elmore.model import ScalarMix
from elmore.static import StaticVectors
from elmore.tasks.examples import Examples, class_weights, hold_out, label_set
from elmore.tasks.features import FeatureExtractor
from elmore.tasks.fit import EncodedExamples, FitProgress, OnProgress, fit, run_folder
from elmore.tasks.head import TaskHead, TaskName
from elmore.tasks.inputs import TokenInput
from elmore.tasks.metrics import Evaluation
from elmore.tasks.networks import Batch
from elmore.tasks.saved import (
    CONFIG,
    FORMAT,
    WEIGHTS,
    TaskFile,
    VectorsOrigin,
    check_hash,
    read_task_config,
    read_weights,
    source_of,
    write_task,
)
from elmore.tasks.settings import TaskSettings

_PREDICTED_AT_ONCE = 64

T = TypeVar("T")
Decode = Callable[[Any, Tensor, Batch], list[T]]
"""Takes a network, its scores of a batch and the batch; returns what is asked of each example."""


@dataclass(repr=False, eq=False)
class TaskModel(TaskSettings):
    """A task on [static; ELMo]; see `Classifier`, `Tagger` and `PairClassifier`."""

    task: ClassVar[TaskName]
    """Its name in a saved folder."""

    def _new_head(self) -> TaskHead:
        """Return the head of the task, by these settings."""
        raise NotImplementedError

    # --- training ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Sequence[Any] | Examples,
        y: Sequence[Any] | None = None,
        *,
        dev: Examples | tuple[Sequence[Any], Sequence[Any]] | None = None,
        folder: str | Path | None = None,
        on_progress: OnProgress = lambda event: None,
    ) -> Self:
        """Train on examples, and keep the weights that do best on `dev`.

        `X` may be the `Examples` of a reader, with their labels. Without `dev`, `dev_share` of the
        examples is held out. `folder` keeps a checkpoint, from which the same call resumes after
        it was stopped. `on_progress` is told of sentences that are encoded, then of each batch.
        """
        self.check_settings()  # before anything takes time
        head, train = self._new_head(), Examples.of(X, y)
        head.check(train)
        if dev is None:
            train, dev = self.hold_out(train)
        elif not isinstance(dev, Examples):
            dev = Examples.of(*dev)
        head.labels = label_set(train, dev, head.labels_of)
        self._set_up(head)
        torch.manual_seed(self.seed)
        self.network_ = self._new_network()
        with ExitStack() as stack:
            if folder is not None:
                facts = self.facts(self.features_, train, dev)
                stack.enter_context(run_folder(Path(folder), facts))
            encoded = EncodedExamples(self._extract(train.X, on_progress), head.targets(train.y))
            dev_encoded = EncodedExamples(self._extract(dev.X, on_progress), None)
            self.progress_: FitProgress = fit(
                self.network_,
                encoded,
                lambda: head.evaluate(dev.y, self._run(dev_encoded, head.decode)).score,
                self.fit_config(),
                folder=None if folder is None else Path(folder),
                class_weights=class_weights(
                    self.class_weight, head.labels, head.labels_of(train.y)
                ),
                on_progress=on_progress,
            )
        return self

    def hold_out(self, examples: Examples) -> tuple[Examples, Examples]:
        """Split examples into a training set and a dev set, `dev_share` of them at random."""
        labels_of = self._new_head().labels_of
        return hold_out(examples, labels_of, share=self.dev_share, seed=self.seed)

    def open_vectors(self) -> FeatureExtractor:
        """Open the biLM, the static vectors and the tokenizer."""
        return FeatureExtractor(self, self._new_head().characters)

    def tokenized(self, examples: Examples, features: FeatureExtractor) -> Examples:
        """Return the examples with their raw texts tokenized."""
        return self._new_head().tokenized(examples, features.tokenize)

    def facts(self, features: FeatureExtractor, train: Examples, dev: Examples) -> dict[str, Any]:
        """Return all that decides the result of `fit`."""
        return {
            "task": self.task,
            "settings": self.saved_settings(),
            **features.fingerprint(),
            "examples": hashlib.sha256(repr((train, dev)).encode("utf-8", "replace")).hexdigest(),
        }

    def _set_up(self, head: TaskHead) -> None:
        """Take a head whose labels are known, and open the vectors."""
        self.head_ = head
        self.classes_ = np.array(head.labels)
        self.features_ = self.open_vectors()

    def _new_network(self) -> nn.Module:
        tokens = TokenInput(
            self.features_.sources,
            where=self.where,
            layers=self.layers,
            context_layer=self.context_layer,
            norm=self.norm,
            elmo_dropout=self.elmo_dropout,
        )
        network = self.head_.network(tokens)
        if tokens.bilm is not None:
            tokens.bilm.requires_grad_()
        return network

    def _extract(self, X: Sequence[Any], on_progress: OnProgress = lambda event: None) -> Any:
        texts = self.head_.texts(X, self.features_.tokenize)
        return self.features_.extract(texts, on_progress)

    # --- use --------------------------------------------------------------------------------------

    def _run(self, data: EncodedExamples, decode: Decode[T]) -> list[T]:
        """Return what the network says of each example, in order."""
        found: dict[int, T] = {}
        self.network_.eval()
        with torch.no_grad():
            for rows in data.batches(_PREDICTED_AT_ONCE, None):
                batch = data.batch(rows)
                scores = self.network_(batch)
                found |= dict(zip(rows, decode(self.network_, scores, batch), strict=True))
        return [found[row] for row in range(len(data))]

    @property
    def _head(self) -> TaskHead:
        """The head of a task that is trained."""
        if not hasattr(self, "network_"):
            raise ConfigError(f"this {type(self).__name__} is not trained yet; call fit first")
        return self.head_

    def _predict(self, X: Sequence[Any], decode: Decode[T]) -> list[T]:
        if not len(X):
            return []
        return self._run(EncodedExamples(self._extract(X), None), decode)

    def evaluate(self, X: Sequence[Any] | Examples, y: Sequence[Any] | None = None) -> Evaluation:
        """Compare predictions with the right labels."""
        head, examples = self._head, Examples.of(X, y)
        labels = list(dict.fromkeys(head.labels_of(examples.y)))
        if not set(labels) & set(head.labels):
            raise DataError(
                f"the task knows none of the examples' labels ({_some(labels)}), but "
                f"{_some(head.labels)}; give examples with labels, in the format of "
                "those it was trained on"
            )
        return head.evaluate(examples.y, self._predict(examples.X, head.decode))

    def score(self, X: Sequence[Any] | Examples, y: Sequence[Any] | None = None) -> float:
        """Return the metric that early stopping goes by, as scikit-learn asks for it."""
        return self.evaluate(X, y).score

    @property
    def mixes(self) -> dict[str, ScalarMix]:
        """The learned mixes, by where they are: input, output."""
        tokens = self.network_.tokens
        assert isinstance(tokens, TokenInput)
        return tokens.mixes

    @property
    def mix(self) -> ScalarMix:
        """The learned mix; of two, the one at the input."""
        if not self.mixes:
            raise ConfigError("there is no mix: this task has no ELMo")
        return next(iter(self.mixes.values()))

    # --- files ------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write a folder with the task's weights, and which biLM and static vectors it needs."""
        head, sources = self._head, self.features_.sources
        elmo, static = sources.elmo, sources.static
        content = TaskFile(
            format=FORMAT,
            task=self.task,
            settings=self.saved_settings(),
            labels=head.labels,
            elmo=None if elmo is None else VectorsOrigin(elmo.source, elmo.model.fingerprint()),
            static=None if static is None else VectorsOrigin(static.source, static.fingerprint()),
        )
        write_task(Path(folder), content, self.network_.state_dict())

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        elmo: str | Path | Elmo | None = None,
        static: str | Path | StaticVectors | None = None,
        verify: bool = True,
    ) -> Self:
        """Load a saved folder; `elmo` and `static` say where its vectors are now.

        Without them they are looked for where they were, but nothing is downloaded. The weights
        must match the folder's checksum, unless `verify` is false.
        """
        folder = Path(folder)
        content = read_task_config(folder)
        if content.task != cls.task:
            raise FormatError(f"{folder} holds a task {content.task!r}, not {cls.task!r}")
        tensors = read_weights(folder, content, verify=verify)
        made = cls(
            elmo=elmo or source_of(content.elmo, "elmo", folder),
            static=static or source_of(content.static, "static", folder),
            **cls.read_settings(content.settings, folder / CONFIG),
        )
        try:
            made.check_settings()
        except ConfigError as error:
            raise FormatError(f"{folder / CONFIG}: settings.{error}") from None
        head = made._new_head()
        head.labels = content.labels
        n_scored = tensors.get("crf.start", tensors.get("classify.bias"))
        if n_scored is None or len(n_scored.shape) != 1 or len(n_scored) != head.n_scored:
            raise FormatError(
                f"{folder / WEIGHTS} has not a score for each of the {len(head.labels)} labels of "
                f"{CONFIG}; copy the task again"
            )
        made._set_up(head)
        sources = made.features_.sources
        check_hash(content.elmo, sources.elmo and sources.elmo.model, folder, "elmo")
        check_hash(content.static, sources.static, folder, "static")
        with torch.device("meta"):  # no memory is taken before the weights are known to fit
            expected = made._new_network().state_dict()
        check_arrays(
            {name: tuple(tensor.shape) for name, tensor in tensors.items()},
            {name: tuple(tensor.shape) for name, tensor in expected.items()},
            folder / WEIGHTS,
        )
        made.network_ = made._new_network()
        made.network_.load_state_dict(tensors)
        made.network_.eval()
        return made


def _some(labels: Sequence[str]) -> str:
    shown = ", ".join(map(repr, labels[:5]))
    return shown + ", …" * (len(labels) > 5)
