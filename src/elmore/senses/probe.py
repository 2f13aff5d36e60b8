"""What does each layer know? Vectors and tags in, the accuracy of a linear probe out (section 5.3).

A multinomial logistic regression learns a word's tag from its frozen vector, on each layer by
itself: it can find only what the layer says outright.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.errors import DataError, MissingExtraError
from elmore.senses.search import Floats


def tag_vectors(
    elmo: Elmo, sentences: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
) -> tuple[Floats, list[str]]:
    """Return the vectors of all words on each layer and their mean, (L + 2, N, D), and the tags."""
    if not sentences:
        raise DataError("there are no tagged sentences; give some")
    for number, (tokens, given) in enumerate(zip(sentences, tags, strict=True)):
        if len(tokens) != len(given):
            raise DataError(
                f"sentence {number} has {len(tokens)} words and {len(given)} tags; "
                "expected a tag for each word"
            )
    read = elmo.encode_tokens([list(tokens) for tokens in sentences], layers="all")
    layers = np.concatenate([found.vectors for found in read], axis=1)
    return with_mean(layers), [tag for given in tags for tag in given]


def with_mean(layers: Floats) -> Floats:
    """Add the mean of the layers as one more, (L + 2, N, D)."""
    return np.concatenate([layers, layers.mean(axis=0, keepdims=True)])


def probe_layers(
    training: Floats, tags: Sequence[str], test: Floats, right: Sequence[str]
) -> list[float]:
    """Return the accuracy on each layer: learned from `training`, (layers, N, D), and measured."""
    return [
        float((probe(known, tags, asked) == np.array(right)).mean())
        for known, asked in zip(training, test, strict=True)
    ]


def probe(training: Floats, tags: Sequence[str], test: Floats) -> npt.NDArray[np.str_]:
    """Learn tags from vectors, (N, D), and return those of `test`."""
    try:
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  an extra
        from sklearn.pipeline import make_pipeline  # noqa: PLC0415
        from sklearn.preprocessing import StandardScaler  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("a probe", "senses") from None
    if len(set(tags)) < 2:
        raise DataError(f"all words have the tag {tags[0]!r}; a probe needs at least two tags")
    classifier: Any = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, tol=1e-3))
    found: npt.NDArray[np.str_] = classifier.fit(training, list(tags)).predict(test)
    return found
