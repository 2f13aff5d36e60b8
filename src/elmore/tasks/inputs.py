"""The inputs of a task, each an item of one list: what it knows of a token before it reads it.

The usual list is [static vectors; ELMo], as in the paper (section 3.3): the biLM is frozen, its
layers are mixed with weights s and a scale gamma that the task learns, and the mix is concatenated
with a static vector at the input of the task's RNN; a second mix, with weights of its own, may be
concatenated with the RNN's output. More may join: the expected states of a biLM, another biLM, a
character CNN, and any object with an `encode_tokens`. Each has its own mix.

An input is opened (files are read), stores what it says of some sentences (`store`), and has the
part of the task's network that learns (`network`, input_networks.py). Here are static vectors and
characters; layer_inputs.py has the inputs that are layers.

Shapes: B texts, T tokens, S sentences, N real tokens, L layers, D dim, C characters.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from elmore.bilm_config import DType
from elmore.checks import at_least
from elmore.static import StaticVectors
from elmore.tasks.input_networks import CharNetwork, VectorNetwork
from elmore.tasks.layer_cache import OnEncoded, TokenTuple
from elmore.tasks.settings import MAX_CHAR_FILTERS
from elmore.text.chars import N_BYTE_IDS, byte_ids


@dataclass(frozen=True)
class Chosen:
    """The sentences of a batch of texts."""

    tokens: list[TokenTuple]
    """Those of each sentence, (S)."""
    places: npt.NDArray[np.int64]
    """Where their tokens are among those of all stored sentences, (N,)."""
    mask: npt.NDArray[np.bool_]
    """(B, T), true at real tokens."""

    def padded(self, values: Tensor) -> Tensor:
        """Return the values of all tokens, (N, ...), as (B, T, ...), 0 at padding."""
        padded = values.new_zeros(*self.mask.shape, *values.shape[1:])
        padded[torch.from_numpy(self.mask)] = values
        return padded


Lookup = Callable[[Chosen], Tensor]
"""Returns what an input has stored of the tokens of a batch, as its network reads it."""


@dataclass(frozen=True)
class Storage:
    """Where the vectors of frozen inputs are stored."""

    folder: Path | None
    dtype: DType
    on_progress: OnEncoded = lambda done, total: None


@dataclass(frozen=True)
class Input(ABC):
    """One input of a task."""

    kind: ClassVar[str]
    """Its name in a saved task and on the command line."""

    def __sklearn_clone__(self) -> Self:
        return self  # estimators may share it

    def opened(self) -> Self:
        """Return it with its files read."""
        return self

    def check(self) -> None:  # noqa: B027  some have none
        """Refuse options that `opened` or `network` would refuse, before files are read."""

    @abstractmethod
    def store(self, sentences: Sequence[TokenTuple], storage: Storage) -> Lookup:
        """Compute what is computed once for all epochs."""

    @abstractmethod
    def network(self) -> nn.Module:
        """Return the part of a network that reads it (input_networks.py)."""

    @property
    def source_name(self) -> str | None:
        """Where its vectors came from, if they did."""
        return None

    def fingerprint(self) -> str | None:
        """Return a hash of its vectors, if it has any."""
        return None

    def options(self) -> dict[str, Any]:
        """Return its settings but where its vectors are, for a saved task."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in own.items() if name != "source"}


@dataclass(frozen=True)
class StaticInput(Input):
    """A static vector of each word."""

    kind = "static"
    source: str | Path | StaticVectors

    def opened(self) -> Self:
        """Read the vectors."""
        if isinstance(self.source, StaticVectors):
            return self
        return replace(self, source=StaticVectors.load(self.source))

    @property
    def vectors(self) -> StaticVectors:
        """The opened vectors."""
        assert isinstance(self.source, StaticVectors)
        return self.source

    def store(self, sentences: Sequence[TokenTuple], storage: Storage) -> Lookup:
        """Look up the row of each token, -1 if it has none."""
        found = {word: self.vectors.row(word) for sentence in sentences for word in sentence}
        known = {word: -1 if row is None else row for word, row in found.items()}
        rows = np.array([known[word] for sentence in sentences for word in sentence])
        return partial(self._batch, rows)

    def _batch(self, rows: npt.NDArray[np.int64], chosen: Chosen) -> Tensor:
        some = rows[chosen.places]
        vectors = self.vectors.vectors[np.maximum(some, 0)]
        vectors = np.where(some[:, None] < 0, self.vectors.unknown_vector, vectors)
        return chosen.padded(torch.from_numpy(vectors))

    def network(self) -> nn.Module:
        """Return what gives the vectors on."""
        return VectorNetwork(self.vectors.dim)

    @property
    def source_name(self) -> str | None:
        """Where the vectors were read from."""
        return self.vectors.source

    def fingerprint(self) -> str:
        """Return the hash of the vectors."""
        return self.vectors.fingerprint()


@dataclass(frozen=True)
class CharInput(Input):
    """A character CNN that is learned with the task (Ma and Hovy 2016)."""

    kind = "chars"
    n_filters: int = 64

    def check(self) -> None:
        """Refuse sizes that cannot be."""
        at_least(1, largest=MAX_CHAR_FILTERS, n_filters=self.n_filters)

    def store(self, sentences: Sequence[TokenTuple], storage: Storage) -> Lookup:
        """Encode the characters of each batch, which takes no time."""

        def batch(chosen: Chosen) -> Tensor:
            rows: dict[str, int] = {}
            places = [rows.setdefault(w, len(rows)) for words in chosen.tokens for w in words]
            return chosen.padded(torch.from_numpy(byte_ids(list(rows), 24)[places]))

        return batch

    def network(self) -> nn.Module:
        """Return the CNN."""
        return CharNetwork(N_BYTE_IDS, self.n_filters)
