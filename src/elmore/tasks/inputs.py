"""Sentences in, the input of a task's network for each token out: [static; ELMo].

As in the paper (section 3.3): the biLM is frozen, its layers are mixed with weights s and a scale
gamma that the task learns, and the mix is concatenated with a static vector at the input of the
task's RNN; a second mix, with weights of its own, may be concatenated with the RNN's output.

Shapes: B sentences, T tokens, L+1 layers, D dim of ELMo, S of the static vectors, C characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from elmore.embed import Elmo
from elmore.errors import ConfigError
from elmore.model import ScalarMix, with_context_layer
from elmore.model.mix import Norm
from elmore.static import StaticVectors
from elmore.tasks.layer_cache import StoredLayers, TokenTuple
from elmore.text import CharEncoder

Where = Literal["input", "output", "both"]
MixedLayers = Literal["mix", "top"] | int


@dataclass(frozen=True)
class TokenBatch:
    """The tokens of B sentences as a network reads them, padded to the longest."""

    mask: Tensor
    """(B, T), true at real tokens."""
    static: Tensor | None = None
    """(B, T, S)"""
    layers: Tensor | None = None
    """(L + 1, B, T, D), of a frozen biLM; L + 2 with the context layer."""
    elmo_ids: Tensor | None = None
    """(B, T + 2, C), for a biLM that is fine-tuned."""
    char_ids: Tensor | None = None
    """(B, T, C), for a network with a character CNN of its own."""
    marks: Tensor | None = None
    """(B, T), 1 at the predicate of each sentence, else 0."""


@dataclass(frozen=True)
class Sources:
    """Where the vectors of tokens come from: at least one of ELMo and static vectors."""

    elmo: Elmo | None
    static: StaticVectors | None
    freeze: bool = True
    """Whether the biLM is frozen, and its layers are read from disk."""
    characters: CharEncoder | None = None
    """For a network with a character CNN of its own."""

    def __post_init__(self) -> None:
        if self.elmo is None and self.static is None:
            raise ConfigError("there are no vectors to train on; give elmo, static, or both")


class SentenceFeatures:
    """Tokenized sentences, none empty, with the vectors of their tokens, for batches."""

    def __init__(
        self,
        tokens: Sequence[TokenTuple],
        sources: Sources,
        layers: StoredLayers | None,
        marks: Sequence[int] | None = None,
    ) -> None:
        self.tokens = tokens
        self.sources = sources
        self.layers = layers
        self.marks = marks
        self.lengths = np.array([len(sentence) for sentence in self.tokens])
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def _static_rows(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """The row of each token's static vector, -1 if it has none, (N,)."""
        static = self.sources.static
        assert static is not None
        rows = {word: static.row(word) for sentence in self.tokens for word in sentence}
        found = [rows[word] for sentence in self.tokens for word in sentence]
        return np.array([-1 if row is None else row for row in found])

    def batch(self, chosen: Sequence[int]) -> TokenBatch:
        """Put some sentences together."""
        lengths = self.lengths[list(chosen)]
        mask = np.arange(lengths.max()) < lengths[:, None]
        places = np.concatenate([np.arange(self._starts[k], self._starts[k + 1]) for k in chosen])
        sources, words = self.sources, [self.tokens[k] for k in chosen]
        static = layers = elmo_ids = char_ids = marks = None
        if sources.static is not None:
            rows = self._static_rows[places]
            vectors = sources.static.vectors[np.maximum(rows, 0)]
            vectors = np.where(rows[:, None] < 0, sources.static.unknown_vector, vectors)
            static = _padded(torch.from_numpy(vectors), mask)
        if self.layers is not None:
            stored = torch.from_numpy(np.asarray(self.layers[places])).float()
            layers = _padded(stored, mask).permute(2, 0, 1, 3)
        elif sources.elmo is not None:
            elmo_ids = sources.elmo.ids([list(sentence) for sentence in words]).ids
        if sources.characters is not None:
            ids = sources.characters.encode([word for sentence in words for word in sentence])
            char_ids = _padded(torch.from_numpy(ids), mask)
        if self.marks is not None:
            asked = np.array([self.marks[k] for k in chosen])
            marks = torch.from_numpy((np.arange(mask.shape[1]) == asked[:, None]).astype(np.int64))
        return TokenBatch(torch.from_numpy(mask), static, layers, elmo_ids, char_ids, marks)


def _padded(values: Tensor, mask: "np.ndarray[tuple[int, int], np.dtype[np.bool_]]") -> Tensor:
    """Return the rows of all tokens, (N, ...), as (B, T, ...), 0 at padding."""
    padded = values.new_zeros(*mask.shape, *values.shape[1:])
    padded[torch.from_numpy(mask)] = values
    return padded


class TokenInput(nn.Module):
    """Gives a network its input and, if asked, what is concatenated with its output."""

    def __init__(
        self,
        sources: Sources,
        *,
        where: Where,
        layers: MixedLayers,
        context_layer: bool,
        norm: Norm,
        elmo_dropout: float,
    ) -> None:
        super().__init__()
        elmo, static = sources.elmo, sources.static
        self.context_layer = context_layer
        self.input_mix = self.output_mix = None
        if elmo is not None:
            if where in ("input", "both"):
                self.input_mix = _mix(elmo, layers, context_layer, norm, elmo_dropout)
            if where in ("output", "both"):
                self.output_mix = _mix(elmo, layers, context_layer, norm, elmo_dropout)
        self.bilm = None if elmo is None or sources.freeze else elmo.bilm
        elmo_dim = 0 if elmo is None else elmo.dim
        self.dim = (0 if static is None else static.dim) + elmo_dim * (self.input_mix is not None)
        """Dimensions of a token's input."""
        self.output_dim = elmo_dim * (self.output_mix is not None)
        """Dimensions that are concatenated with the RNN's output; 0 if none are."""
        if not self.dim:
            raise ConfigError(
                "ELMo at the output alone leaves the input empty; give static vectors too, "
                'or where="both"'
            )

    def forward(self, batch: TokenBatch) -> tuple[Tensor, Tensor | None]:
        """Return the input (B, T, dim), and (B, T, output_dim) or None."""
        layers = batch.layers
        if self.bilm is not None:
            layers = self.bilm(batch.elmo_ids).layers
            layers = with_context_layer(layers) if self.context_layer else layers
            layers = layers[:, :, 1:-1]
        parts = [] if batch.static is None else [batch.static]
        if self.input_mix is not None:
            parts.append(self.input_mix(layers, batch.mask))
        beside = None if self.output_mix is None else self.output_mix(layers, batch.mask)
        return torch.cat(parts, dim=2), beside

    @property
    def mixes(self) -> dict[str, ScalarMix]:
        """The mixes, by where they are."""
        both = {"input": self.input_mix, "output": self.output_mix}
        return {name: mix for name, mix in both.items() if mix is not None}

    def penalty(self) -> Tensor:
        """Return the sum of the squares of the mixes' weights, for L2 regularization."""
        squares = [mix.w.square().sum() for mix in self.mixes.values()]
        return torch.stack(squares).sum() if squares else torch.zeros(())


def _mix(
    elmo: Elmo, layers: MixedLayers, context_layer: bool, norm: Norm, dropout: float
) -> ScalarMix:
    """Return a mix that learns, or one that takes a single layer and learns gamma alone."""
    if layers == "mix":
        return ScalarMix(elmo.n_layers, norm=norm, dropout=dropout, context_layer=context_layer)
    if context_layer:
        raise ConfigError(
            f"layers is {layers!r} with context_layer, which is a layer of the mix; "
            "leave one of them out"
        )
    number = elmo.n_layers - 1 if layers == "top" else layers
    if type(number) is not int or not 0 <= number < elmo.n_layers:
        raise ConfigError(
            f"layers is {layers!r}; expected mix, top, or a number from 0 to {elmo.n_layers - 1}"
        )
    weights = [float(layer == number) for layer in range(elmo.n_layers)]
    mix = ScalarMix(elmo.n_layers, weights=weights, trainable=False, norm=norm, dropout=dropout)
    mix.gamma.requires_grad_()
    return mix
