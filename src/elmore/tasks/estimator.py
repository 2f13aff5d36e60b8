"""The estimator behind every task: examples in, a trained task out, and its predictions.

What a task is made of is its `Task` (task.py), its vectors come from a `FeatureExtractor`
(features.py), training is `fit` (fit.py), the folder is written by saved.py. The conventions are
scikit-learn's.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import torch

from elmore.embed import Elmo
from elmore.embed.texts import as_list
from elmore.errors import ConfigError, FormatError
from elmore.formats.arrays import check_arrays
from elmore.model.mix import ScalarMix
from elmore.static import StaticVectors
from elmore.tasks.adapt import adapt
from elmore.tasks.base import BaseEstimator
from elmore.tasks.encoded import EncodedExamples, distinct_sentences
from elmore.tasks.examples import Examples, examples_hash, hold_out
from elmore.tasks.features import FeatureExtractor
from elmore.tasks.fit import ADAPTED, FitProgress, OnProgress, fit, run_folder
from elmore.tasks.input_list import input_of
from elmore.tasks.input_networks import TokenInput
from elmore.tasks.metrics import Evaluation
from elmore.tasks.saved import (
    CONFIG,
    FORMAT,
    WEIGHTS,
    TaskFile,
    adapted_bilm,
    check_hash,
    check_inputs,
    origin_of,
    read_task_config,
    read_weights,
    restored_inputs,
    saved_inputs,
    source_of,
    write_task,
)
from elmore.tasks.settings import TaskName, TaskSettings
from elmore.tasks.task import Batch, Task

_MAX_PREDICTED_TOKENS = 32_768  # of a batch, so that memory does not grow with the texts

T = TypeVar("T")
Decode = Callable[[Any, Any, Batch], list[T]]
"""Takes a network, its scores of a batch and the batch; returns what is asked of each example."""


@dataclass(repr=False, eq=False)
class TaskModel(TaskSettings, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A task on [static; ELMo; ...]; see `Classifier`, `Tagger` and the others."""

    task: ClassVar[TaskName]
    """Its name in a saved folder."""

    def _new_task(self) -> Task:
        """Return the parts of the task, by these settings."""
        raise NotImplementedError

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        super().check_settings()
        if isinstance(self.inputs, str):
            raise ConfigError(f"inputs is {self.inputs!r}; expected a list of inputs")
        for one in self.inputs:
            input_of(one)

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
        task, train = self._new_task(), Examples.of(X, y)
        task.reader.check(train)
        if dev is None:
            train, dev = self.hold_out(train)
        else:
            dev = Examples.of(dev) if isinstance(dev, Examples) else Examples.of(*dev)
            task.reader.check(dev)
        task.answers.learn(train, dev)
        self._set_up(task)
        with torch.device("meta"):
            task.network(self.features_.network)  # refuses what cannot be before a biLM is adapted
        with ExitStack() as stack:
            if folder is not None:
                facts = self.facts(self.features_, train, dev)
                stack.enter_context(run_folder(Path(folder), facts))
            if self.adapt_epochs:
                self._adapt(train, None if folder is None else Path(folder) / ADAPTED, on_progress)
            torch.manual_seed(self.seed)
            self.network_ = task.network(self.features_.network)
            encoded = self._encode(train.X, train.y, on_progress)
            dev_encoded = self._encode(dev.X, None, on_progress)
            part = task.part
            self.progress_: FitProgress = fit(
                self.network_,
                lambda seed: encoded if part is None else encoded.parts(part, seed),
                lambda: task.metric(dev.y, self._run(dev_encoded, task.answers.decode)).score,
                self.fit_config(),
                folder=None if folder is None else Path(folder),
                on_progress=on_progress,
            )
        return self

    def hold_out(self, examples: Examples) -> tuple[Examples, Examples]:
        """Split examples into a training set and a dev set, `dev_share` of them at random."""
        labels_of = self._new_task().answers.labels_of
        return hold_out(examples, labels_of, share=self.dev_share, seed=self.seed)

    def open_vectors(self) -> FeatureExtractor:
        """Open the inputs and the tokenizer."""
        return FeatureExtractor(self, self._new_task().inputs)

    def tokenized(self, examples: Examples, features: FeatureExtractor) -> Examples:
        """Return the examples with their raw texts tokenized."""
        return Examples(self._new_task().reader.tokenized(examples.X, features), examples.y)

    def facts(self, features: FeatureExtractor, train: Examples, dev: Examples) -> dict[str, Any]:
        """Return all that decides the result of `fit`."""
        return {
            "task": self.task,
            "settings": self.saved_settings(),
            **features.fingerprint(),
            "examples": examples_hash(train, dev),
        }

    def _set_up(self, task: Task) -> None:
        """Take a task whose answers have learned, and open its vectors."""
        self.task_ = task
        self.classes_ = np.array(task.answers.labels)
        self.features_ = FeatureExtractor(self, task.inputs)

    def _adapt(self, train: Examples, folder: Path | None, on_progress: OnProgress) -> None:
        """Let the biLM learn the training texts as a language model, and go on with that."""
        elmo, task = self.features_.elmo, self.task_
        assert elmo is not None  # held by check_settings
        sentences, _ = distinct_sentences(task.reader.read(train.X, self.features_))
        adapted = adapt(
            elmo, sentences, n_epochs=self.adapt_epochs, seed=self.seed, folder=folder,
            on_progress=on_progress,
        )  # fmt: skip
        self.features_ = FeatureExtractor(self, task.inputs, adapted)

    def _encode(
        self,
        X: Sequence[Any],
        y: Sequence[Any] | None = None,
        on_progress: OnProgress = lambda event: None,
    ) -> EncodedExamples:
        """Return examples as the network reads them; with `y`, as it learns from them."""
        reader, targets = self.task_.reader, None
        readings = reader.read(X, self.features_)
        if y is not None:
            readings, y = reader.training(readings, y)
            targets = self.task_.answers.targets(readings, y)
        return self.features_.encode(readings, targets, on_progress)

    # --- use --------------------------------------------------------------------------------------

    def _run(self, data: EncodedExamples, decode: Decode[T]) -> list[T]:
        """Return what the network says of each example, in order."""
        found: dict[int, T] = {}
        self.network_.eval()
        with torch.no_grad():
            for rows in data.sorted_batches(self.task_.max_predicted, _MAX_PREDICTED_TOKENS):
                batch = data.batch(rows)
                with torch.inference_mode():  # a GRU's short steps take a quarter less time
                    scores = self.network_(batch)
                found |= dict(zip(rows, decode(self.network_, scores, batch), strict=True))
        return [found[row] for row in range(len(data))]

    @property
    def _task(self) -> Task:
        """The parts of a task that is trained."""
        if not hasattr(self, "network_"):
            raise ConfigError(f"this {type(self).__name__} is not trained yet; call fit first")
        return self.task_

    def _predict(self, X: Sequence[Any], decode: Decode[T] | None = None) -> list[T]:
        decode, X = decode or self._task.answers.decode, as_list(X, "examples")
        return self._run(self._encode(X), decode) if X else []

    def evaluate(self, X: Sequence[Any] | Examples, y: Sequence[Any] | None = None) -> Evaluation:
        """Compare predictions with the right answers."""
        task, examples = self._task, Examples.of(X, y)
        task.reader.check(examples)
        task.answers.check(examples.y)
        return task.metric(examples.y, self._predict(examples.X))

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

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the parts of the task, which its settings and labels say."""
        state: dict[str, Any] = super().__getstate__()
        if "task_" in state:
            state = {**state, "task_": state["task_"].answers.labels}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "task_" in state:
            self.task_ = self._new_task()
            self.task_.answers.labels = state["task_"]

    def save(self, folder: str | Path) -> None:
        """Write a folder with the task's weights, and which biLM and static vectors it needs."""
        task, features = self._task, self.features_
        content = TaskFile(
            format=FORMAT,
            task=self.task,
            settings=self.saved_settings() | {"tokenizer": features.tokenizer_name},
            labels=task.answers.labels,
            elmo=origin_of(features.inputs.get("elmo")),
            static=origin_of(features.inputs.get("static")),
            inputs=saved_inputs(features.more),
        )
        adapted = features.elmo if self.adapt_epochs else None
        write_task(Path(folder), content, self.network_.state_dict(), adapted)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        elmo: str | Path | Elmo | None = None,
        static: str | Path | StaticVectors | None = None,
        inputs: Sequence[Any] | None = None,
        verify: bool = True,
    ) -> Self:
        """Load a saved folder; `elmo`, `static` and `inputs` say where its vectors are now.

        Without them they are looked for where they were, but nothing is downloaded. The weights
        must match the folder's checksum, unless `verify` is false.
        """
        folder = Path(folder)
        content = read_task_config(folder)
        if content.task != cls.task:
            raise FormatError(f"{folder} holds a task {content.task!r}, not {cls.task!r}")
        tensors = read_weights(folder, content, verify=verify)
        made = cls(
            elmo=elmo or adapted_bilm(folder) or source_of(content.elmo, "elmo", folder),
            static=static or source_of(content.static, "static", folder),
            inputs=restored_inputs(content, folder) if inputs is None else inputs,
            **cls.read_settings(content.settings, folder / CONFIG),
        )
        try:
            made.check_settings()
        except ConfigError as error:
            raise FormatError(f"{folder / CONFIG}: settings.{error}") from None
        task = made._new_task()
        task.answers.labels = content.labels
        if task.answers.scores_weight is not None:
            n_scored = tensors.get(task.answers.scores_weight)
            if n_scored is None or tuple(n_scored.shape) != (task.answers.n_scored,):
                raise FormatError(
                    f"{folder / WEIGHTS} has not a score for each of the {len(content.labels)} "
                    f"labels of {CONFIG}; copy the task again"
                )
        made._set_up(task)
        features = made.features_
        check_hash(content.elmo, features.inputs.get("elmo"), folder, "elmo")
        check_hash(content.static, features.inputs.get("static"), folder, "static")
        check_inputs(content.inputs, features.more, folder)
        with torch.device("meta"):  # no memory is taken before the weights are known to fit
            expected = task.network(features.network).state_dict()
        check_arrays(
            {name: tuple(tensor.shape) for name, tensor in tensors.items()},
            {name: tuple(tensor.shape) for name, tensor in expected.items()},
            folder / WEIGHTS,
        )
        made.network_ = task.network(features.network)
        made.network_.load_state_dict(tensors)
        made.network_.eval()
        return made
