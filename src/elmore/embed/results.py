"""The results of `Elmo`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import DType
from elmore.checks import one_of
from elmore.errors import ConfigError
from elmore.extras import import_torch
from elmore.kernels.library import Floats

Output = Literal["numpy", "torch"]


@dataclass(frozen=True)
class TokenVectors:
    """The vectors of one text."""

    tokens: tuple[str, ...]
    """The T words, and the sentence marks where they were kept."""
    vectors: Any
    """(T, D), (L + 1, T, D) for layers="all", (T, D / 2) for "expected": a numpy array or, on
    request, a tensor; for a list of layers a dictionary with one of these for each."""
    spans: tuple[tuple[int, int], ...] | None
    """The character span of each token; None where tokens were given. Marks have empty spans."""

    def representations(self) -> dict[str, Any]:
        """Return the paper's R_k (section 3.2), by name: 2L + 1 views (T, D / 2) of layers="all".

        "token" is the context-free vector x_k, "forward 1", "backward 1" and so on are the LSTM
        layers of each direction.
        """
        if isinstance(self.vectors, dict) or self.vectors.ndim != 3:
            raise ConfigError('the representations are those of all layers; ask for layers="all"')
        half = self.vectors.shape[-1] // 2
        found = {"token": self.vectors[0, :, :half]}
        for number, layer in enumerate(self.vectors[1:], start=1):
            found[f"forward {number}"] = layer[:, :half]
            found[f"backward {number}"] = layer[:, half:]
        return found


@dataclass(frozen=True)
class WordScores:
    """Natural log-probabilities of the words of one text."""

    tokens: tuple[str, ...]
    """The T words."""
    forward: npt.NDArray[np.float32]
    """(T,) log p(word | the words before it)."""
    backward: npt.NDArray[np.float32]
    """(T,) log p(word | the words after it)."""
    known: npt.NDArray[np.bool_]
    """(T,) whether the word is in the vocabulary; others are scored as <UNK>."""


@dataclass(frozen=True)
class TokenIds:
    """A batch of texts as `ElmoLayer` reads it, sentence marks included."""

    ids: Any
    """A tensor (B, T + 2, n_ids)."""
    mask: Any
    """(B, T + 2), true at real tokens."""


def converter(output: Output, dtype: DType) -> Callable[[Floats], Any]:
    """Return the function that copies vectors into the kind of array that was asked for."""
    one_of(Output, output=output)
    one_of(DType, dtype=dtype)
    torch = import_torch("output='torch'") if output == "torch" else None

    def convert(vectors: Floats) -> Any:
        own = np.array(vectors, dtype, order="C")
        return own if torch is None else torch.from_numpy(own)

    return convert
