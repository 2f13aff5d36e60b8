"""Inputs that are layers of vectors: those of a biLM, and of any object with an `encode_tokens`.

Frozen, they are stored on disk (layer_cache.py), and the task learns how to mix them.

Shapes: T tokens of a sentence, L layers, D dim.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from elmore.bilm_config import DType, Norm
from elmore.checks import one_of
from elmore.embed import Elmo
from elmore.embed.layers import Layers, layers_dim
from elmore.errors import ConfigError, DataError
from elmore.model.mix import ScalarMix
from elmore.tasks.input_networks import MixNetwork, Place
from elmore.tasks.inputs import Chosen, Input, Lookup, Storage
from elmore.tasks.layer_cache import TokenTuple, stored_layers
from elmore.tasks.settings import MixedLayers, Where

InputLayers = MixedLayers | Literal["context", "expected"]

_DECIDING = ("model", "known words", "normalization", "precision")
_PROBE = ["The", "bank", "은행", "."]
_PLACES: dict[str, tuple[Place, ...]] = {
    "input": ("input",), "output": ("output",), "both": ("input", "output"),
}  # fmt: skip


@dataclass(frozen=True)
class ElmoInput(Input):
    """The layers of a biLM, mixed with weights of their own; or one of them."""

    kind = "elmo"
    source: str | Path | Elmo
    where: Where = "input"
    """Where it is added: at the input of the task's RNN, at its output, or both."""
    layers: InputLayers = "mix"
    """mix learns a weight for each layer; top, context, expected, or a number, takes one."""
    context_layer: bool = False
    """Whether the mix has one more layer: the states that predict each word without reading it."""
    norm: Norm = "none"
    """How the layers are normalized before they are mixed."""
    dropout: float = 0.5
    freeze: bool = True
    """Whether the biLM is frozen, and its layers are read from disk."""

    def opened(self) -> Self:
        """Read the model."""
        if isinstance(self.source, Elmo):
            return self
        return replace(self, source=Elmo.from_pretrained(self.source))

    def check(self) -> None:
        """Refuse what no biLM has."""
        one_of(Where, where=self.where)
        one_of(Norm, norm=self.norm)
        _check_dropout(self.dropout)
        if self.layers in ("context", "expected") and not self.freeze:
            raise ConfigError(f"layers is {self.layers!r}, which is of a frozen biLM only")

    @property
    def elmo(self) -> Elmo:
        """The opened model."""
        assert isinstance(self.source, Elmo)
        return self.source

    @cached_property
    def stored(self) -> list[Layers]:
        """The layers that are stored: all, so that whatever mixes them shares a file; or one."""
        if self.layers in ("context", "expected"):
            return [self.layers]
        found: list[Layers] = [*range(self.elmo.n_layers)]
        return [*found, "context"] if self.context_layer else found

    @property
    def layers_shape(self) -> tuple[int, int]:
        """Stored layers and dimensions."""
        return len(self.stored), layers_dim(self.stored[0], self.elmo.dim)

    def deciding_facts(self) -> list[str]:
        """Return all that decides the stored layers of given tokens."""
        words = [str(layer) for layer in self.stored if isinstance(layer, str)]
        alone = ["alone"] * (len(self.stored) == 1)
        return [*elmo_facts(self.elmo).values(), *words, *alone]

    def encode_layers(
        self, sentences: list[list[str]], dtype: DType
    ) -> Iterator[npt.NDArray[np.floating[Any]]]:
        """Return the stored layers of each sentence."""
        for found in self.elmo.encode_tokens(sentences, layers=self.stored, dtype=dtype):
            yield np.stack([found.vectors[layer] for layer in self.stored], axis=1)

    def store(self, sentences: Sequence[TokenTuple], storage: Storage) -> Lookup:
        """Encode the sentences; a biLM that is fine-tuned encodes each batch again."""
        if self.freeze:
            return _stored_lookup(self, sentences, storage)
        elmo = self.elmo
        return lambda chosen: elmo.ids([list(sentence) for sentence in chosen.tokens]).ids

    def network(self) -> nn.Module:
        """Return the mixes, and the biLM if it is fine-tuned."""
        mixes = {place: self._mix() for place in _PLACES[self.where]}
        bilm = None if self.freeze else self.elmo.bilm
        return MixNetwork(self.layers_shape[1], mixes, bilm, context_layer=self.context_layer)

    def _mix(self) -> ScalarMix:
        n_layers = self.elmo.n_layers
        if self.layers == "mix":
            return ScalarMix(
                n_layers, norm=self.norm, dropout=self.dropout, context_layer=self.context_layer
            )
        if self.context_layer:
            raise ConfigError(
                f"layers is {self.layers!r} with context_layer, which is a layer of the mix; "
                "leave one of them out"
            )
        if self.layers in ("context", "expected"):
            return one_layer_mix(1, 0, norm=self.norm, dropout=self.dropout)
        number = n_layers - 1 if self.layers == "top" else self.layers
        if type(number) is not int or not 0 <= number < n_layers:
            raise ConfigError(
                f"layers is {self.layers!r}; expected mix, top, or a number from 0 to "
                f"{n_layers - 1}"
            )
        return one_layer_mix(n_layers, number, norm=self.norm, dropout=self.dropout)

    @property
    def source_name(self) -> str | None:
        """Where the model was read from."""
        return self.elmo.source

    def fingerprint(self) -> str:
        """Return the hash of the model."""
        return self.elmo.model.fingerprint()


@dataclass(frozen=True)
class VectorInput(Input):
    """The vectors of any object with an `encode_tokens`, as those of a one-layer biLM.

    It takes a list of lists of tokens, and gives for each an array (T, D), or an object with one
    as `vectors`. Its vectors must depend on nothing but the tokens of a sentence. They are kept in
    a task's `cache` only if it has a `fingerprint()`, which tells it from any other.
    """

    kind = "vectors"
    source: Any
    where: Where = "input"
    dropout: float = 0.5

    def check(self) -> None:
        """Refuse options that cannot be."""
        one_of(Where, where=self.where)
        _check_dropout(self.dropout)

    @cached_property
    def _probe(self) -> npt.NDArray[np.floating[Any]]:
        """The vectors of a few words, which tell its dimensions and what it is."""
        (found,) = self._encode([_PROBE])
        return found

    def _encode(self, sentences: list[list[str]]) -> Iterable[npt.NDArray[np.floating[Any]]]:
        found = list(self.source.encode_tokens(sentences))
        arrays = [np.asarray(getattr(one, "vectors", one)) for one in found]
        name = type(self.source).__name__
        if len(arrays) != len(sentences):
            raise DataError(
                f"encode_tokens of {name} gave {len(arrays)} arrays for {len(sentences)} sentences"
            )
        for array, sentence in zip(arrays, sentences, strict=True):
            if array.ndim != 2 or len(array) != len(sentence) or array.dtype.kind != "f":
                raise DataError(
                    f"encode_tokens of {name} gave an array of {array.dtype}, {array.shape}, for "
                    f"{len(sentence)} tokens; expected floats, (tokens, dimensions)"
                )
        return arrays

    @property
    def layers_shape(self) -> tuple[int, int]:
        """One layer, and its dimensions."""
        return 1, self._probe.shape[1]

    def deciding_facts(self) -> list[str]:
        """Return what it is known by."""
        return [self.fingerprint()]

    def encode_layers(
        self, sentences: list[list[str]], dtype: DType
    ) -> Iterator[npt.NDArray[np.floating[Any]]]:
        """Return the vectors of each sentence, (T, 1, D)."""
        _, dim = self.layers_shape
        for array in self._encode(sentences):
            if array.shape[1] != dim:
                raise DataError(
                    f"encode_tokens of {type(self.source).__name__} gave vectors of "
                    f"{array.shape[1]} dimensions, and of {dim} before; expected the same for all"
                )
            yield array[:, None]

    def store(self, sentences: Sequence[TokenTuple], storage: Storage) -> Lookup:
        """Encode the sentences."""
        if not hasattr(self.source, "fingerprint"):
            storage = replace(storage, folder=None)
        return _stored_lookup(self, sentences, storage)

    def network(self) -> nn.Module:
        """Return a scale, gamma, and dropout."""
        mixes = {
            place: one_layer_mix(1, 0, norm="none", dropout=self.dropout)
            for place in _PLACES[self.where]
        }
        return MixNetwork(self.layers_shape[1], mixes)

    def fingerprint(self) -> str:
        """Return its own fingerprint, or a hash of its vectors of a few words."""
        own = getattr(self.source, "fingerprint", None)
        known = repr(own()) if own is not None else self._probe.astype(np.float32).tobytes().hex()
        return hashlib.sha256(f"{type(self.source).__qualname__} {known}".encode()).hexdigest()


def _stored_lookup(
    source: "ElmoInput | VectorInput", sentences: Sequence[TokenTuple], storage: Storage
) -> Lookup:
    layers = stored_layers(
        source, sentences, storage.folder, storage.dtype, on_progress=storage.on_progress
    )

    def batch(chosen: Chosen) -> Tensor:
        stored = torch.from_numpy(np.asarray(layers[chosen.places])).float()
        return chosen.padded(stored)

    return batch


def one_layer_mix(n_layers: int, number: int, *, norm: Norm, dropout: float) -> ScalarMix:
    """Return a mix that takes a single layer and learns gamma alone."""
    weights = [float(layer == number) for layer in range(n_layers)]
    mix = ScalarMix(n_layers, weights=weights, trainable=False, norm=norm, dropout=dropout)
    mix.gamma.requires_grad_()
    return mix


def elmo_facts(elmo: Elmo) -> dict[str, str]:
    """Return all that decides the layers of given tokens."""
    facts = elmo.fingerprint()
    return {name: facts[name] for name in _DECIDING}


def _check_dropout(dropout: float) -> None:
    if not 0 <= dropout < 1:
        raise ConfigError(f"dropout is {dropout}; expected a number from 0 to below 1")
