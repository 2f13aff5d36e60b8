"""The settings that all tasks share, each a field of a dataclass.

So `get_params`, `clone` and the command line all know them. scikit-learn's base class is behind the
extra `tasks`.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import msgspec

from elmore.checks import at_least, one_of
from elmore.embed import Elmo
from elmore.embed.results import DType
from elmore.errors import ConfigError
from elmore.metadata import convert_metadata
from elmore.model.mix import Norm
from elmore.static import StaticVectors
from elmore.tasks.base import BaseEstimator
from elmore.tasks.examples import ClassWeight
from elmore.tasks.fit import FitConfig, Unfreeze
from elmore.tasks.input_list import input_of
from elmore.tasks.layer_inputs import MixedLayers, Where

MAX_HIDDEN_DIM = 8192
_NOT_SAVED = ("elmo", "static", "inputs", "cache")


@dataclass(repr=False, eq=False)
class TaskSettings(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What all tasks are given."""

    elmo: str | Path | Elmo | None = "en"
    """The biLM: a bundled name, a model folder or an `Elmo`; None for static vectors alone."""
    static: str | Path | StaticVectors | None = None
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
    layer_decay: float = 2.6
    """How a biLM is fine-tuned: the learning rate is divided by this from layer to layer, from the
    task's own weights down."""
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
    """Adam's learning rate; it is halved when the dev score stops improving."""
    clip_norm: float = 5.0
    """The norm that gradients are clipped to."""
    patience: int = 4
    """Early stopping: epochs without a new best dev score after which training ends."""
    class_weight: ClassWeight = "none"
    """balanced: rare labels weigh more in the loss."""
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
        one_of(ClassWeight, class_weight=self.class_weight)
        one_of(Where, where=self.where)
        one_of(Norm, norm=self.norm)
        one_of(DType, cache_dtype=self.cache_dtype)
        at_least(1, largest=MAX_HIDDEN_DIM, hidden_dim=self.hidden_dim)
        if isinstance(self.inputs, str):
            raise ConfigError(f"inputs is {self.inputs!r}; expected a list of inputs")
        for one in self.inputs:
            input_of(one)
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
        return {k: v for k, v in self.get_params().items() if k not in _NOT_SAVED}

    @classmethod
    def read_settings(cls, content: dict[str, Any], path: Path) -> dict[str, Any]:
        """Return saved settings, each of its type; `path` is the file that they are from.

        One that an earlier version did not have yet is not there, and has its default.
        """
        fields = [f for f in dataclasses.fields(cls) if f.name not in _NOT_SAVED]
        described = msgspec.defstruct(
            "Settings",
            [(f.name, f.type, f.default) for f in fields],
            frozen=True,
            forbid_unknown_fields=True,
        )
        found = convert_metadata(content, described, path, at="settings", fix="copy it again")
        return {name: getattr(found, name) for name in content}
