"""The results of `Elmo`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmore.bilm_config import DType
from elmore.checks import one_of
from elmore.errors import ConfigError

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

    ids: Tensor
    """(B, T + 2, C) characters, (B, T + 2, C + 1) with the word last, or (B, T + 2) words."""
    mask: Tensor
    """(B, T + 2), true at real tokens."""


def converter(output: Output, dtype: DType) -> Callable[[Tensor], Any]:
    """Return the function that copies a tensor into the kind of array that was asked for."""
    one_of(Output, output=output)
    one_of(DType, dtype=dtype)

    def convert(vectors: Tensor) -> Any:
        own = vectors.to(getattr(torch, dtype), copy=True)
        return own if output == "torch" else own.numpy(force=True)

    return convert
