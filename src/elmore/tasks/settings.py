"""The settings of tasks, each a field of a dataclass: those that all share, then each task's own.

An estimator inherits them, and scikit-learn's base class beside them (estimator.py), so that
`get_params`, `clone`, saved tasks and the command line all know them. Nothing heavy is imported
here, so that the command line can show them at once.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from elmore.bilm_config import DType, Norm
from elmore.checks import MAX_SEED, at_least, one_of
from elmore.errors import ConfigError
from elmore.metadata import convert_metadata
from elmore.text.sentences import check_language

if TYPE_CHECKING:
    from elmore.embed import Elmo
    from elmore.static import StaticVectors

TaskName = Literal["classify", "tag", "pair", "answer", "coref"]
Where = Literal["input", "output", "both"]
MixedLayers = Literal["mix", "top"] | int
Unfreeze = Literal["gradual", "all"]
ClassWeight = Literal["none", "balanced"]

MAX_CHAR_FILTERS = 8192
_MAX_HIDDEN_DIM = 8192
_MAX_WIDTH = 100
_NOT_SAVED = ("elmo", "static", "inputs", "cache")


@dataclass(frozen=True)
class FitConfig:
    """How a task is trained."""

    n_epochs: int
    batch_size: int
    learning_rate: float
    clip_norm: float
    patience: int
    mix_l2: float
    unfreeze: Unfreeze
    bilm_learning_rate: float
    layer_decay: float
    seed: int

    def __post_init__(self) -> None:
        for name in ("n_epochs", "batch_size", "patience"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ConfigError(f"{name} is {value!r}; expected a whole number, at least 1")
        for name in ("learning_rate", "bilm_learning_rate", "clip_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise ConfigError(f"{name} is {getattr(self, name)}; expected a number above 0")
        one_of(Unfreeze, unfreeze=self.unfreeze)
        if not 1 <= self.layer_decay < math.inf:
            raise ConfigError(f"layer_decay is {self.layer_decay}; expected 1 or more")
        if not 0 <= self.mix_l2 < math.inf:
            raise ConfigError(f"mix_l2 is {self.mix_l2}; expected 0 or more")
        at_least(0, largest=MAX_SEED, seed=self.seed)


@dataclass(repr=False, eq=False)
class TaskSettings:
    """What all tasks are given."""

    elmo: "str | Path | Elmo | None" = "en"
    """The biLM: a bundled name, a model folder or an `Elmo`; None for static vectors alone."""
    static: "str | Path | StaticVectors | None" = None
    """Static vectors: a GloVe, word2vec or fastText file, an elmore folder of vectors, or None."""
    _: KW_ONLY
    inputs: Sequence[Any] = ()
    """More inputs, each with its own mix: static:FILE, chars:FILTERS, elmo:MODEL, with options
    after commas, such as elmo:en,layers=expected; in Python also `Elmo`s, `StaticVectors`, and
    objects with an `encode_tokens`."""
    where: Where = "input"
    """Where the ELMo vectors are added: at the input of the task's RNN, at its output, or both."""
    layers: MixedLayers = "mix"
    """mix learns a weight for each biLM layer; top, or a number, takes one layer."""
    context_layer: bool = False
    """Whether the mix has one more layer: the states that predict each word without reading it."""
    norm: Norm = "none"
    """How the layers are normalized before they are mixed: none, or token."""
    elmo_dropout: float = 0.5
    """Dropout of the ELMo vectors."""
    mix_l2: float = 0.001
    """L2 regularization of the layer weights; large values keep them uniform."""
    freeze: bool = True
    """Whether the biLM is frozen, so that its vectors are computed once; if not, a copy of it is
    fine-tuned and saved with the task."""
    unfreeze: Unfreeze = "gradual"
    """How a biLM is fine-tuned: gradual (the first epoch leaves it frozen, each later one trains a
    layer more, from the top), or all (every layer from the first epoch)."""
    bilm_learning_rate: float = 0.0001
    """How a biLM is fine-tuned: the learning rate of its top layer; it is halved with that of the
    task's own weights."""
    layer_decay: float = 2.6
    """How a biLM is fine-tuned: the learning rate is divided by this from layer to layer, from the
    top down."""
    adapt_epochs: float = 0.0
    """Epochs in which the biLM first learns the training texts as a language model, without their
    labels; the adapted biLM is saved with the task. 0: none."""
    hidden_dim: int = 100
    """Dimensions of each direction of the task's RNN."""
    dropout: float = 0.3
    """Dropout of the task's own layers."""
    n_epochs: int = 20
    """Epochs, at most."""
    batch_size: int = 32
    """Examples in a batch, at most; a small training set has smaller ones, down to 4, so that an
    epoch has 20 updates."""
    learning_rate: float = 0.002
    """Adam's learning rate for the task's own weights; it is halved when the dev score stops
    improving."""
    clip_norm: float = 5.0
    """The norm that gradients are clipped to."""
    patience: int = 4
    """Early stopping: epochs without a new best dev score after which training ends."""
    dev_share: float = 0.1
    """The share of the training examples that is held out for early stopping where no dev set is
    given."""
    tokenizer: str | None = None
    """The tokenizer of raw strings; by default the biLM's own, or english without a biLM."""
    cache: str | Path | None = None
    """A folder to keep the biLM's vectors in for later runs; by default they are deleted after
    training."""
    cache_dtype: DType = "float16"
    """The type of the stored biLM vectors."""
    seed: int = 1
    """Random seed."""

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        self.fit_config()
        one_of(Where, where=self.where)
        one_of(Norm, norm=self.norm)
        one_of(DType, cache_dtype=self.cache_dtype)
        at_least(1, largest=_MAX_HIDDEN_DIM, hidden_dim=self.hidden_dim)
        if not 0 <= self.adapt_epochs < math.inf:
            raise ConfigError(f"adapt_epochs is {self.adapt_epochs}; expected 0 or more")
        if self.adapt_epochs and self.elmo is None:
            raise ConfigError("adapt_epochs is given, but no biLM; give elmo, too")
        for name in ("elmo_dropout", "dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(
                    f"{name} is {getattr(self, name)}; expected a number from 0 to below 1"
                )

    def fit_config(self) -> FitConfig:
        """Return those that the training loop reads."""
        return FitConfig(**{f.name: getattr(self, f.name) for f in dataclasses.fields(FitConfig)})

    def saved_settings(self) -> dict[str, Any]:
        """Return those that are written to disk: all but where vectors are."""
        names = sorted(f.name for f in _saved_fields(type(self)))
        return {name: getattr(self, name) for name in names}

    @classmethod
    def read_settings(cls, content: dict[str, Any], path: Path) -> dict[str, Any]:
        """Return saved settings, each of its type; `path` is the file that they are from.

        One that an earlier version did not have yet is not there, and has its default.
        """
        described = msgspec.defstruct(
            "Settings",
            [(f.name, f.type, f.default) for f in _saved_fields(cls)],
            frozen=True,
            forbid_unknown_fields=True,
        )
        found = convert_metadata(content, described, path, at="settings", fix="copy it again")
        return {name: getattr(found, name) for name in content}


def _saved_fields(cls: type[TaskSettings]) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(cls) if f.name not in _NOT_SAVED]


@dataclass(repr=False, eq=False)
class LabelSettings(TaskSettings):
    """What a `Classifier` and a `PairClassifier` are given."""

    class_weight: ClassWeight = "none"
    """balanced: rare labels weigh more in the loss."""

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        super().check_settings()
        one_of(ClassWeight, class_weight=self.class_weight)


@dataclass(repr=False, eq=False)
class TagSettings(TaskSettings):
    """What a `Tagger` is given."""

    char_filters: int = 64
    """Filters of the tagger's own character CNN; 0: it has none."""
    predicate: bool = False
    """Whether each sentence comes with the place of its predicate, as semantic roles need."""

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        super().check_settings()
        at_least(0, largest=MAX_CHAR_FILTERS, char_filters=self.char_filters)


@dataclass(repr=False, eq=False)
class AnswerSettings(TaskSettings):
    """What a `QuestionAnswerer` is given."""

    where: Where = "both"
    """Where the ELMo vectors are added: at the input of the task's RNN, at its output, or both."""
    hidden_dim: int = 90
    """Dimensions of each direction of the task's RNNs."""
    dropout: float = 0.2
    """Dropout of the task's own layers."""
    char_filters: int = 64
    """Filters of the task's own character CNN; 0: it has none."""
    split_sentences: str | None = "en"
    """The language by whose rules texts are split into sentences for the biLM; none: they are
    not."""
    max_tokens: int = 400
    """Longer texts are cut to so many tokens around the answer, in training alone."""
    max_answer_tokens: int = 20
    """Tokens of a predicted answer, at most."""

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        super().check_settings()
        at_least(0, largest=MAX_CHAR_FILTERS, char_filters=self.char_filters)
        at_least(1, max_tokens=self.max_tokens, max_answer_tokens=self.max_answer_tokens)
        if self.split_sentences is not None:
            check_language(self.split_sentences)


@dataclass(repr=False, eq=False)
class CorefSettings(TaskSettings):
    """What a `Coreferencer` is given."""

    batch_size: int = 1
    """Examples in a batch, at most; a small training set has smaller ones, down to 4, so that an
    epoch has 20 updates."""
    learning_rate: float = 0.001
    """Adam's learning rate for the task's own weights; it is halved when the dev score stops
    improving."""
    dropout: float = 0.2
    """Dropout of the task's own layers."""
    char_filters: int = 64
    """Filters of the task's own character CNN; 0: it has none."""
    scorer_dim: int = 150
    """Dimensions of the hidden layers that score mentions and antecedents."""
    max_width: int = 10
    """Tokens of a mention, at most."""
    spans_per_token: float = 0.4
    """Spans that are kept as possible mentions, for each token of a document."""
    max_antecedents: int = 250
    """How many of the kept spans before a mention may be its antecedent, the nearest."""
    max_sentences: int = 50
    """Sentences of a document that an epoch learns from, at most; where they begin is random."""
    split_sentences: str | None = "en"
    """The language by whose rules texts are split into sentences for the biLM; none: they are
    not."""

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        super().check_settings()
        at_least(0, largest=MAX_CHAR_FILTERS, char_filters=self.char_filters)
        at_least(1, largest=_MAX_HIDDEN_DIM, scorer_dim=self.scorer_dim)
        at_least(1, largest=_MAX_WIDTH, max_width=self.max_width)
        at_least(1, max_antecedents=self.max_antecedents, max_sentences=self.max_sentences)
        if not 0 < self.spans_per_token <= self.max_width:
            raise ConfigError(
                f"spans_per_token is {self.spans_per_token}; expected a number above 0, and not "
                f"above max_width, {self.max_width}"
            )
        if self.split_sentences is not None:
            check_language(self.split_sentences)


SETTINGS: dict[TaskName, type[TaskSettings]] = {
    "classify": LabelSettings,
    "tag": TagSettings,
    "pair": LabelSettings,
    "answer": AnswerSettings,
    "coref": CorefSettings,
}
"""Those of each task."""
