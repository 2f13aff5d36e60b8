"""The parts of a task's network that read its inputs (inputs.py), and `TokenInput`, all of them.

Each part takes the values of its input in a batch and gives vectors for the task's RNN to read at
its input, at its output, or at both.

Shapes: B texts, T tokens, S sentences, L layers, D dim, C characters.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import torch
from torch import Tensor, nn

from elmore.engine.bilm_grad import differentiable_layers
from elmore.errors import ConfigError
from elmore.model.bilm import BiLM
from elmore.model.context import with_context_layer
from elmore.model.lstm import LstmStack
from elmore.model.mix import ScalarMix

Place = Literal["input", "output"]
Vectors = dict[Place, Tensor]

_CHAR_DIM = 16


@dataclass(frozen=True)
class TokenBatch:
    """The tokens of B texts as a network reads them, padded to the longest."""

    mask: Tensor
    """(B, T), true at real tokens."""
    lengths: Tensor
    """The tokens of each sentence, in order, (S,); a text has one sentence or more."""
    values: tuple[Tensor, ...]
    """What each input stores of the tokens, as its part of the network reads it."""


class VectorNetwork(nn.Module):
    """Gives vectors on as they are."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dims: dict[Place, int] = {"input": dim}

    def forward(self, values: Tensor, batch: TokenBatch) -> Vectors:
        """Take (B, T, D)."""
        return {"input": values}


class CharNetwork(nn.Module):
    """A character CNN."""

    def __init__(self, n_characters: int, n_filters: int) -> None:
        super().__init__()
        self.spell = nn.Embedding(n_characters, _CHAR_DIM)
        self.convolve = nn.Conv1d(_CHAR_DIM, n_filters, 3, padding=1)
        self.dims: dict[Place, int] = {"input": n_filters}

    def forward(self, values: Tensor, batch: TokenBatch) -> Vectors:
        """Take character ids (B, T, C); give 0 at padding."""
        words = self.convolve(self.spell(values[batch.mask]).transpose(1, 2)).amax(2)
        vectors: Tensor = words.new_zeros(*batch.mask.shape, words.shape[1])
        vectors[batch.mask] = words
        return {"input": vectors}


class MixNetwork(nn.Module):
    """Mixes layers, with weights of its own in each place; fine-tunes a copy of `bilm`."""

    def __init__(
        self,
        dim: int,
        mixes: Mapping[Place, ScalarMix],
        bilm: BiLM | None = None,
        *,
        context_layer: bool = False,
    ) -> None:
        super().__init__()
        self.context_layer = context_layer
        self.mixes = nn.ModuleDict({place: mix for place, mix in mixes.items()})  # noqa: C416
        self.bilm = None
        if bilm is not None:
            self.bilm = copy.deepcopy(bilm).requires_grad_()
            self.bilm.softmax = None
        self.dims: dict[Place, int] = dict.fromkeys(mixes, dim)

    def forward(self, values: Tensor, batch: TokenBatch) -> Vectors:
        """Take layers (B, T, L, D) or, for a biLM that is fine-tuned, its ids of S sentences."""
        if self.bilm is None:
            layers = values.permute(2, 0, 1, 3)
        else:
            layers = self._encode(self.bilm, values, batch)
        return {place: mix(layers, batch.mask) for place, mix in self.mixes.items()}  # type: ignore[misc]

    def bilm_parameters(self) -> list[list[nn.Parameter]]:
        """Return the weights of a biLM that is fine-tuned, layer by layer from the top."""
        if self.bilm is None:
            return []
        stacks: list[LstmStack] = [self.bilm.forward_lstm, self.bilm.backward_lstm]
        layers = [
            [weight for stack in stacks for weight in stack.layers[depth].parameters()]
            for depth in reversed(range(stacks[0].config.n_layers))
        ]
        return [*layers, [*self.bilm.token_encoder.parameters()]]

    def _encode(self, bilm: BiLM, ids: Tensor, batch: TokenBatch) -> Tensor:
        """Return the layers of the texts, (L, B, T, D), from the ids of their sentences."""
        mask = torch.arange(ids.shape[1]) < batch.lengths[:, None] + 2  # the sentence marks
        layers = differentiable_layers(bilm, ids, mask)
        layers = with_context_layer(layers) if self.context_layer else layers
        layers = layers[:, :, 1:-1]
        real = torch.arange(layers.shape[2]) < batch.lengths[:, None]
        texts = layers.new_zeros(len(layers), *batch.mask.shape, layers.shape[3])
        texts[:, batch.mask] = layers[:, real]
        return texts


class TokenInput(nn.Module):
    """Gives a network its input and, if asked, what is concatenated with its output."""

    def __init__(self, parts: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(dict(parts))
        self.dim = self._sum("input")
        """Dimensions of a token's input."""
        self.output_dim = self._sum("output")
        """Dimensions that are concatenated with the RNN's output; 0 if none are."""
        if not self.dim:
            raise ConfigError(
                "ELMo at the output alone leaves the input empty; give static vectors too, "
                'or where="both"'
            )

    def _sum(self, place: Place) -> int:
        return sum(part.dims.get(place, 0) for part in self.parts.values())  # type: ignore[union-attr,operator]

    def forward(self, batch: TokenBatch) -> tuple[Tensor, Tensor | None]:
        """Return the input (B, T, dim), and (B, T, output_dim) or None."""
        found: dict[Place, list[Tensor]] = {"input": [], "output": []}
        for part, values in zip(self.parts.values(), batch.values, strict=True):
            for place, vectors in part(values, batch).items():
                found[place].append(vectors)
        beside = torch.cat(found["output"], dim=2) if found["output"] else None
        return torch.cat(found["input"], dim=2), beside

    @property
    def mixes(self) -> dict[str, ScalarMix]:
        """The mixes, by where they are; after a comma, the name of another input than ELMo."""
        found: dict[str, ScalarMix] = {}
        for name, part in self.parts.items():
            if isinstance(part, MixNetwork):
                for place, mix in part.mixes.items():
                    assert isinstance(mix, ScalarMix)
                    found[place if name == "elmo" else f"{place}, {name}"] = mix
        return found

    def bilm_parameters(self) -> list[list[nn.Parameter]]:
        """Return the weights of all biLMs that are fine-tuned, layer by layer from the top."""
        each = [p.bilm_parameters() for p in self.parts.values() if isinstance(p, MixNetwork)]
        return [[w for layer in found for w in layer] for found in zip_longest(*each, fillvalue=[])]

    def penalty(self) -> Tensor:
        """Return the sum of the squares of the mixes' weights, for L2 regularization."""
        squares = [mix.w.square().sum() for mix in self.mixes.values() if mix.w.requires_grad]
        return torch.stack(squares).sum() if squares else torch.zeros(())
