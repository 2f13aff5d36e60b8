"""What the three tasks share: settings, vectors, fitting, scikit-learn's conventions, one folder.

A setting is a field of a dataclass, so that `get_params`, `clone` and the command line all know it.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from elmore.embed import Elmo
from elmore.embed.results import DType
from elmore.errors import ConfigError, DataError, FormatError
from elmore.model import ScalarMix
from elmore.model.mix import Norm
from elmore.static import StaticVectors
from elmore.tasks.base import BaseEstimator
from elmore.tasks.fit import Dataset, FitConfig, Progress, Tell, fit, run_folder
from elmore.tasks.inputs import MixedLayers, Sentences, Sources, TokenInput, Where
from elmore.tasks.layer_cache import Read, Tokens, deciding_facts, stored_layers
from elmore.tasks.metrics import Evaluation
from elmore.tasks.networks import Batch
from elmore.tasks.readers import Examples
from elmore.tasks.saved import check_hash, load_weights, read_task_config, source_of, write_task
from elmore.text import CharEncoder, tokenizer_by_name

_PREDICTED_AT_ONCE = 64
_NOT_SAVED = ("elmo", "static", "cache")

T = TypeVar("T")


@dataclass(repr=False, eq=False)
class TaskModel(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A task on [static; ELMo]; see `Classifier`, `Tagger` and `PairClassifier`."""

    elmo: str | Path | Elmo | None = "en"
    """The biLM: a bundled name, a model folder or an `Elmo`; None for static vectors alone."""
    static: str | Path | StaticVectors | None = None
    """Static vectors: a file of GloVe, word2vec or fastText, a folder of ours, or none."""
    _: KW_ONLY
    where: Where = "input"
    """Where ELMo stands: at the input of the task's RNN, beside its output, or both."""
    layers: MixedLayers = "mix"
    """mix learns the weights of the layers; top, or a number, takes one layer."""
    context_layer: bool = False
    """Whether the mix has one more layer: the states that predict each word, which have not read
    it."""
    norm: Norm = "none"
    """How the layers are normalized before they are mixed; none, or token."""
    elmo_dropout: float = 0.5
    """The share of ELMo's numbers that is left out in training."""
    mix_l2: float = 0.001
    """How strongly the weights of the layers are kept alike."""
    freeze: bool = True
    """Whether the biLM stays as it is; its vectors are then computed once."""
    hidden_dim: int = 100
    """Numbers in each direction of the task's RNN."""
    dropout: float = 0.3
    """The share of the task's own numbers that is left out in training."""
    n_epochs: int = 20
    """How often the examples are read, at most."""
    batch_size: int = 32
    """Examples in an update, at most: so that few examples make 20 updates too, as few as 4."""
    learning_rate: float = 0.002
    """Adam's; it is halved when the development score gets no better."""
    clip_norm: float = 5.0
    """The largest norm of the gradients."""
    patience: int = 4
    """Epochs without a new best after which training ends."""
    class_weight: Literal["none", "balanced"] = "none"
    """balanced: rare labels count more."""
    dev_share: float = 0.1
    """The share of the examples to stop by where no development examples are given."""
    tokenizer: str | None = None
    """For raw strings; none: the biLM's own, or english without one."""
    cache: str | Path | None = None
    """A folder to keep the biLM's vectors in; none: they are forgotten after training."""
    cache_dtype: DType = "float16"
    """What they are kept in."""
    seed: int = 1
    """Decides every random choice."""

    task: ClassVar[str]
    """Its name in a saved folder."""

    # --- what a task says of itself ---------------------------------------------------------------

    def _labels_of(self, y: Sequence[Any]) -> list[str]:
        """Return all labels of some examples."""
        raise NotImplementedError

    def _sides(self, X: Sequence[Any]) -> tuple[list[Tokens], ...]:
        """Return the tokens of one or two texts of each example."""
        raise NotImplementedError

    def _targets(self, y: Sequence[Any]) -> list[Any]:
        """Return what is right as numbers."""
        raise NotImplementedError

    def _make_network(self, tokens: TokenInput) -> nn.Module:
        raise NotImplementedError

    def _decode(self, scores: Tensor, batch: Batch) -> list[Any]:
        """Return what a network's scores say."""
        raise NotImplementedError

    def _evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> Evaluation:
        raise NotImplementedError

    def _marks(self, X: Sequence[Any]) -> list[int] | None:
        """Return which word of each example is asked about, if one is."""
        return None

    @property
    def _characters(self) -> CharEncoder | None:
        return None

    def tokenized(self, examples: Examples) -> Examples:
        """Return the examples with their raw texts cut into tokens, as this task cuts them."""
        return examples

    # --- learning ---------------------------------------------------------------------------------

    def fit(
        self,
        X: Sequence[Any] | Examples,
        y: Sequence[Any] | None = None,
        *,
        dev: Examples | tuple[Sequence[Any], Sequence[Any]] | None = None,
        folder: str | Path | None = None,
        tell: Tell = lambda batch, n_batches, loss: None,
        read: Read = lambda done, of: None,
    ) -> Self:
        """Learn from examples, and keep the weights that do best on `dev`.

        `X` may be the `Examples` of a reader, with their labels. `folder` keeps a checkpoint,
        from which the same call resumes after it was stopped. `read` is told how many sentences the
        biLM has read, `tell` of each batch after that.
        """
        config = self._fit_config()  # which refuses what cannot be, before anything takes time
        train, dev = self._examples(X, y), self._dev(dev)
        if dev is None:
            train, dev = self.hold_out(train)
        self.classes_ = np.array(sorted(set(self._labels_of(train.y))))
        if len(self.classes_) < 2:
            raise DataError(
                f"all training examples have the label {str(self.classes_[0])!r}; "
                "give examples of two or more"
            )
        unseen = sorted(set(self._labels_of(dev.y)) - set(self.classes_))
        if unseen:
            raise DataError(
                f"the development examples have {', '.join(map(repr, unseen))}, which training "
                "never had; give training examples of each label"
            )
        self._open()
        torch.manual_seed(self.seed)
        self.network_ = self._new_network()
        with ExitStack() as stack:
            if folder is not None:
                stack.enter_context(run_folder(Path(folder), self.facts(train, dev)))
            cache = stack.enter_context(self._folder())
            learnt = Dataset(self._read(train.X, cache, read), self._targets(train.y))
            watched = Dataset(self._read(dev.X, cache, read), None)
            self.progress_: Progress = fit(
                self.network_,
                learnt,
                lambda: self._evaluate(dev.y, self._run(watched, self._decode)).score,
                config,
                folder=None if folder is None else Path(folder),
                class_weights=self._class_weights(train.y),
                tell=tell,
            )
        return self

    def facts(self, train: Examples, dev: Examples) -> dict[str, Any]:
        """Return all that decides what is learnt, once the vectors are open."""
        elmo, static = self.sources_.elmo, self.sources_.static
        return {
            "task": self.task,
            "settings": {k: v for k, v in self.get_params().items() if k not in _NOT_SAVED},
            "tokenizer": self.tokenizer_.name,
            "elmo": elmo and deciding_facts(elmo),
            "static": static and static.fingerprint(),
            "examples": hashlib.sha256(repr((train, dev)).encode("utf-8", "replace")).hexdigest(),
        }

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        self._fit_config()

    def _fit_config(self) -> FitConfig:
        return FitConfig(**{f.name: getattr(self, f.name) for f in dataclasses.fields(FitConfig)})

    def _examples(self, X: Any, y: Sequence[Any] | None) -> Examples:
        found = (
            X if isinstance(X, Examples) else Examples(list(X), list(y if y is not None else []))
        )
        if not len(found) or len(found.X) != len(found.y):
            raise DataError(
                f"there are {len(found.X)} examples and {len(found.y)} labels; "
                "expected one for each, and at least one"
            )
        return found

    def _dev(self, dev: Any) -> Examples | None:
        if dev is None or isinstance(dev, Examples):
            return dev
        return self._examples(*dev)

    def hold_out(self, examples: Examples) -> tuple[Examples, Examples]:
        """Take some examples away, `dev_share` of them at random, to stop by."""
        if not 0 < self.dev_share < 1:
            raise ConfigError(f"dev_share is {self.dev_share}; expected a share between 0 and 1")
        order = np.random.default_rng(self.seed).permutation(len(examples)).tolist()
        n_dev = max(1, round(self.dev_share * len(examples)))
        if n_dev >= len(examples):
            raise DataError("there is one example only; give more, or development examples")
        known: set[str] = set()
        train: list[int] = []
        dev: list[int] = []
        for k in order:  # a label that no other example has must stay in training
            labels = set(self._labels_of([examples.y[k]]))
            (dev if len(dev) < n_dev and labels <= known else train).append(k)
            known |= labels
        if not dev:
            raise DataError("each label has one example only; give development examples")
        return tuple(
            Examples([examples.X[k] for k in rows], [examples.y[k] for k in rows])
            for rows in (train, dev)
        )  # type: ignore[return-value]

    def _class_weights(self, y: Sequence[Any]) -> Tensor | None:
        if self.class_weight == "none":
            return None
        if self.class_weight != "balanced":
            raise ConfigError(f"class_weight is {self.class_weight!r}; expected none or balanced")
        labels = self._labels_of(y)
        counts = torch.tensor([labels.count(label) for label in self.classes_])
        return len(labels) / (len(counts) * counts)

    # --- vectors ----------------------------------------------------------------------------------

    def _open(self) -> None:
        """Open the biLM and the static vectors."""
        elmo, static = self.elmo, self.static
        if isinstance(elmo, str | Path):
            elmo = Elmo.from_pretrained(elmo)
        if isinstance(static, str | Path):
            static = StaticVectors.read(static)
        self.sources_ = Sources(elmo, static, self.freeze, self._characters)
        name = self.tokenizer or (None if elmo is not None else "english")
        vocab = None if elmo is None else elmo.model.vocab
        self.tokenizer_ = tokenizer_by_name(name, vocab) if name else elmo.tokenizer  # type: ignore[union-attr]

    def _new_network(self) -> nn.Module:
        tokens = TokenInput(
            self.sources_,
            where=self.where,
            layers=self.layers,
            context_layer=self.context_layer,
            norm=self.norm,
            elmo_dropout=self.elmo_dropout,
        )
        network = self._make_network(tokens)
        if tokens.bilm is not None:
            tokens.bilm.requires_grad_()
        return network

    def _tokens(self, text: Any) -> Tokens:
        if isinstance(text, str):
            return tuple(token.text for token in self.tokenizer_(text))
        return tuple(text)

    def _read(
        self,
        X: Sequence[Any],
        cache: Path,
        read: Read = lambda done, of: None,
    ) -> tuple[Sentences, ...]:
        """Return the sentences of each side with their vectors."""
        found = []
        for side in self._sides(X):
            tokens = [sentence or ("",) for sentence in side]  # a text may have no words
            layers = None
            if self.sources_.elmo is not None and self.freeze:
                layers = stored_layers(
                    self.sources_.elmo, tokens, cache, self.cache_dtype, read,
                    context_layer=self.context_layer,
                )  # fmt: skip
            found.append(Sentences(tokens, self.sources_, layers, self._marks(X)))
        return tuple(found)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        if self.cache is not None:
            yield Path(self.cache)
            return
        with TemporaryDirectory() as folder:
            yield Path(folder)

    # --- use --------------------------------------------------------------------------------------

    def _run(self, data: Dataset, decode: Callable[[Tensor, Batch], list[T]]) -> list[T]:
        """Return what the network says of each example, in order."""
        found: dict[int, T] = {}
        self.network_.eval()
        with torch.no_grad():
            for rows in data.batches(_PREDICTED_AT_ONCE, None):
                batch = data.batch(rows)
                found |= dict(zip(rows, decode(self.network_(batch), batch), strict=True))
        return [found[row] for row in range(len(data))]

    def _predict(self, X: Sequence[Any], decode: Callable[[Tensor, Batch], list[T]]) -> list[T]:
        if not hasattr(self, "network_"):
            raise ConfigError(f"this {type(self).__name__} has learnt nothing yet; call fit first")
        if not len(X):
            return []
        with self._folder() as cache:
            return self._run(Dataset(self._read(X, cache), None), decode)

    def evaluate(self, X: Sequence[Any] | Examples, y: Sequence[Any] | None = None) -> Evaluation:
        """Compare what is predicted with what is right."""
        examples = self._examples(X, y)
        labels = list(dict.fromkeys(self._labels_of(examples.y)))
        if hasattr(self, "classes_") and not set(labels) & set(self.classes_):
            raise DataError(
                f"the task knows none of the examples' labels ({_some(labels)}), but "
                f"{_some(list(self.classes_))}; give examples with labels, in the format of "
                "those it was trained on"
            )
        return self._evaluate(examples.y, self._predict(examples.X, self._decode))

    def score(self, X: Sequence[Any] | Examples, y: Sequence[Any] | None = None) -> float:
        """Return the figure that training goes by, as scikit-learn asks for it."""
        return self.evaluate(X, y).score

    @property
    def mixes(self) -> dict[str, ScalarMix]:
        """The learned mixes, by where they stand: input, output."""
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
        """Write one folder that says which biLM and static vectors it needs."""
        if not hasattr(self, "network_"):
            raise ConfigError(f"this {type(self).__name__} has learnt nothing yet; call fit first")
        elmo, static = self.sources_.elmo, self.sources_.static
        content = {
            "task": self.task,
            "settings": {k: v for k, v in self.get_params().items() if k not in _NOT_SAVED},
            "labels": self.classes_.tolist(),
            "elmo": elmo and {"source": elmo.source, "hash": elmo.model.fingerprint()},
            "static": static and {"source": static.source, "hash": static.fingerprint()},
        }
        write_task(Path(folder), content, self.network_.state_dict())

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        elmo: str | Path | Elmo | None = None,
        static: str | Path | StaticVectors | None = None,
    ) -> Self:
        """Load a saved folder; `elmo` and `static` say where its vectors are now."""
        folder = Path(folder)
        content = read_task_config(folder)
        if content["task"] != cls.task:
            raise FormatError(f"{folder} holds a task {content['task']!r}, not {cls.task!r}")
        made = cls(
            elmo=elmo or source_of(content, "elmo", folder),
            static=static or source_of(content, "static", folder),
            **content["settings"],
        )
        made.classes_ = np.array(content["labels"])
        made._open()
        check_hash(content["elmo"], made.sources_.elmo and made.sources_.elmo.model, folder, "elmo")
        check_hash(content["static"], made.sources_.static, folder, "static")
        made.network_ = made._new_network()
        load_weights(folder, made.network_)
        made.network_.eval()
        return made


def _some(labels: Sequence[str]) -> str:
    shown = ", ".join(repr(str(label)) for label in labels[:5])
    return shown + ", …" * (len(labels) > 5)
