"""The inputs of a task, each an item of one list: what it knows of a token before it reads it.

The usual list is [static vectors; ELMo], as in the paper (section 3.3): the biLM is frozen, its
layers are mixed with weights s and a scale gamma that the task learns, and the mix is concatenated
with a static vector at the input of the task's RNN; a second mix, with weights of its own, may be
concatenated with the RNN's output. More may join: the expected states of a biLM, another biLM, a
character CNN, and any object with an `encode_tokens`. Each has its own mix.

An input is opened (files are read), stores what it says of some sentences (`store`), and has the
part of the task's network that learns (`network`). The parts are put together by `TokenInput`
(token_input.py).

Shapes: B texts, T tokens, S sentences, N real tokens, L layers, D dim, C characters.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import msgspec
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from elmore.checks import at_least, one_of
from elmore.embed import Elmo
from elmore.embed.layers import Layers, layers_dim
from elmore.embed.results import DType
from elmore.errors import ConfigError, DataError
from elmore.model import ScalarMix
from elmore.model.mix import Norm
from elmore.static import StaticVectors
from elmore.tasks.input_networks import CharNetwork, MixNetwork, Place, VectorNetwork
from elmore.tasks.layer_cache import OnEncoded, TokenTuple, stored_layers
from elmore.text import N_CHARACTERS, CharEncoder

Where = Literal["input", "output", "both"]
MixedLayers = Literal["mix", "top"] | int
InputLayers = MixedLayers | Literal["context", "expected"]

MAX_CHAR_FILTERS = 8192

_DECIDING = ("model", "known words", "normalization", "precision")
_PROBE = ["The", "bank", "은행", "."]
_PLACES: dict[str, tuple[Place, ...]] = {
    "input": ("input",), "output": ("output",), "both": ("input", "output"),
}  # fmt: skip


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
class CharInput(Input):
    """A character CNN that is learned with the task (Ma and Hovy 2016)."""

    kind = "chars"
    n_filters: int = 64

    def check(self) -> None:
        """Refuse sizes that cannot be."""
        at_least(1, largest=MAX_CHAR_FILTERS, n_filters=self.n_filters)

    def store(self, sentences: Sequence[TokenTuple], storage: Storage) -> Lookup:
        """Encode the characters of each batch, which takes no time."""
        encoder = CharEncoder(24)

        def batch(chosen: Chosen) -> Tensor:
            words = [word for sentence in chosen.tokens for word in sentence]
            return chosen.padded(torch.from_numpy(encoder.encode(words)))

        return batch

    def network(self) -> nn.Module:
        """Return the CNN."""
        return CharNetwork(N_CHARACTERS["bytes"], self.n_filters)


@dataclass(frozen=True)
class VectorInput(Input):
    """The vectors of any object with an `encode_tokens`, as those of a one-layer biLM.

    It takes a list of lists of tokens, and gives for each an array (T, D), or an object with one
    as `vectors`. Its vectors must depend on nothing but the tokens of a sentence.
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
        return (array[:, None] for array in self._encode(sentences))

    def store(self, sentences: Sequence[TokenTuple], storage: Storage) -> Lookup:
        """Encode the sentences."""
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


_KINDS: dict[str, type[Any]] = {
    kind.kind: kind for kind in (StaticInput, ElmoInput, CharInput, VectorInput)
}
InputKind = Literal["static", "elmo", "chars", "vectors"]


def input_of(given: Any) -> Input:
    """Return the input that a user gives: one already, a string, vectors, or an encoder.

    A string is KIND:SOURCE with options after commas, such as "static:glove.txt", "chars:64" or
    "elmo:en,layers=expected,dropout=0.3".
    """
    if isinstance(given, str):
        return _parsed(given)
    if isinstance(given, Input):
        given.check()
        return given
    if isinstance(given, StaticVectors):
        return StaticInput(given)
    if isinstance(given, Elmo):
        return ElmoInput(given)
    if callable(getattr(given, "encode_tokens", None)):
        return VectorInput(given)
    raise ConfigError(
        f"an input is {given!r}; expected a string such as elmo:en,layers=expected, StaticVectors, "
        "an Elmo, or an object with encode_tokens"
    )


def _parsed(given: str) -> Input:
    kind, _, rest = given.partition(":")
    value, *options = rest.split(",")
    if kind not in ("static", "elmo", "chars") or not value:
        raise ConfigError(
            f"an input is {given!r}; expected static:FILE, elmo:MODEL or chars:FILTERS, with "
            "options after commas, such as elmo:en,layers=expected"
        )
    named: dict[str, Any] = dict(option.partition("=")[::2] for option in options)
    if "layers" in named and named["layers"].isdecimal():
        named["layers"] = int(named["layers"])
    named["n_filters" if kind == "chars" else "source"] = value
    return restored_input(kind, named, f"the input {given!r}", strict=False)


def restored_input(kind: str, options: dict[str, Any], where: str, *, strict: bool = True) -> Input:
    """Return an input of given options; `where` is what errors call it."""
    cls = _KINDS[kind]
    known = {one.name: one for one in fields(cls)}
    if unknown := sorted(options.keys() - known.keys()):
        raise ConfigError(
            f"{where} has the option {unknown[0]!r}; expected {', '.join(sorted(known))}"
        )
    found = {}
    for name, value in options.items():
        kind_of: Any = Any if name == "source" else known[name].type
        try:
            found[name] = msgspec.convert(value, kind_of, strict=strict)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{where}: {name} is {value!r} ({error})") from None
    made: Input = cls(**found)
    made.check()
    return made


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
