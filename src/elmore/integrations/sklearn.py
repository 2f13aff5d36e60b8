"""Texts in, sentence vectors out: `ElmoVectorizer`, a transformer for scikit-learn's pipelines.

Nothing is learned from the texts: `fit` loads the model. Without scikit-learn the module can be
imported all the same, and the class names the extra when it is made.

Shapes: N texts, D dimensions.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from elmore.checks import one_of
from elmore.embed import Elmo
from elmore.embed.layers import Layers, check_layers, layers_dim
from elmore.embed.pooling import Pooling
from elmore.errors import ConfigError, DataError, MissingExtraError

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """Refuses to be made."""

        def __new__(cls, *_: Any, **__: Any) -> Any:
            """Name the extra."""
            raise MissingExtraError(f"elmore.{cls.__name__}", "sklearn")

    class ClassNamePrefixFeaturesOutMixin:  # type: ignore[no-redef]
        """Adds nothing."""

    class TransformerMixin:  # type: ignore[no-redef]
        """Adds nothing."""


@dataclass(repr=False, eq=False)
class ElmoVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns each text into one vector, the pooled ELMo vectors of its words.

    Texts are strings, which the model's tokenizer splits, or lists of tokens. After `fit`, `elmo_`
    is the loaded model.
    """

    elmo: str | Path | Elmo = "en"
    """The biLM: a bundled name, a model folder or an `Elmo`, which clones share."""
    _: KW_ONLY
    layers: Layers = "mix"
    """mix, top, a layer number, context or expected."""
    pooling: Pooling = "mean"
    """How the vectors of a text's words become one: mean, max or first-last."""

    def fit(self, X: Sequence[Any], y: Any = None) -> Self:
        """Load the model; the texts are checked, and nothing is learned from them."""
        _check_texts(X)
        if self.layers == "all":
            raise ConfigError(
                "layers is 'all'; scikit-learn needs one vector per text: choose one, such as 'mix'"
            )
        one_of(Pooling, pooling=self.pooling)
        elmo = self.elmo if isinstance(self.elmo, Elmo) else Elmo.from_pretrained(self.elmo)
        check_layers(self.layers, elmo.n_layers)
        self.elmo_ = elmo
        return self

    def transform(self, X: Sequence[Any]) -> npt.NDArray[np.float32]:
        """Return the vector of each text, (N, D); a text without words gets zeros."""
        check_is_fitted(self)
        _check_texts(X)
        vectors: npt.NDArray[np.float32] = self.elmo_.encode(
            X, layers=self.layers, pooling=self.pooling
        )
        return vectors

    @property
    def _n_features_out(self) -> int:
        """What `get_feature_names_out` counts to."""
        return layers_dim(self.layers, self.elmo_.dim)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # float32, whatever the texts are stored in
        return tags


def _check_texts(X: Any) -> None:
    """Refuse tables, whose columns would be taken for texts."""
    n_dims = getattr(X, "ndim", 1)
    if n_dims != 1:
        raise DataError(
            f"X has {n_dims} dimensions; expected a list of texts, such as one column of a table"
        )
