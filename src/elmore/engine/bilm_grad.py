"""Token ids in, all layers of the biLM out, differentiable: the network that a task fine-tunes.

The layers and their gradients are those of model/bilm.py under autograd; a test holds both equal.
But each distinct word of a batch is encoded once, and the backward passes are those of pretraining,
written by hand. Weights that need no gradient cost none: with the lower layers frozen, the backward
pass ends above them.

Shapes: B sentences, T tokens, N = T B, W distinct words, L layers, p projection_dim, D = 2p.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.engine.char_cnn_grad import CharCnnGrad
from elmore.engine.lstm_grad import LstmStackGrad
from elmore.engine.matmul import Matmul
from elmore.engine.threads import TwoThreads
from elmore.errors import DataError
from elmore.model.bilm import BiLM, prefix_mask, reversal
from elmore.model.char_cnn import CharCnn
from elmore.model.lstm import LstmStack

_THREADS, _NO_THREADS = TwoThreads(), TwoThreads(use=False)


def differentiable_layers(bilm: BiLM, token_ids: Tensor, mask: Tensor) -> Tensor:
    """Return what `bilm(token_ids, mask).layers` is, (L + 1, B, T, D), computed faster.

    Gradients can be taken once: the backward pass overwrites what the forward pass stored.
    """
    n_sentences, width = mask.shape
    lengths = mask.sum(dim=1)
    if not torch.equal(mask, prefix_mask(lengths, width)):
        raise DataError("the mask has padding before a token; padding must end each row")
    words, places = torch.unique(token_ids.flatten(0, 1), dim=0, return_inverse=True)
    vectors = _encode_words(bilm, words)
    places = places.view(n_sentences, width).T  # time step by time step
    reverse = reversal(lengths, width).T
    in_order = torch.stack([places, places.gather(0, reverse)]).flatten(1)
    stacks = (bilm.forward_lstm, bilm.backward_lstm)
    weights = [weight for stack in stacks for weight in stack.parameters()]
    both: Tensor = _Directions.apply(stacks, n_sentences, F.embedding(in_order, vectors), *weights)  # type: ignore[no-untyped-call]
    forward, backward = both.view(2, -1, width, n_sentences, both.shape[3]).unbind()  # (L, T, B, p)
    backward = backward.gather(1, reverse[None, :, :, None].expand_as(backward))
    tokens = F.embedding(places, vectors)[None]
    layers = torch.cat([torch.cat([tokens, forward]), torch.cat([tokens, backward])], dim=3)
    return layers.transpose(1, 2) * mask[None, :, :, None]


def _encode_words(bilm: BiLM, words: Tensor) -> Tensor:
    """Return the vectors of distinct words, (W, p)."""
    encoder, features = bilm.token_encoder, None
    if (cnn := encoder.char_cnn) is not None:
        features = _Characters.apply(cnn, encoder.char_ids(words), *cnn.parameters())  # type: ignore[no-untyped-call]
    return encoder.combine(features, None if encoder.words is None else encoder.rows(words))


class _Weights:
    """Gradients of the weights that a function of autograd was given."""

    def __init__(self, weights: Sequence[Tensor], needed: Sequence[bool]) -> None:
        self.values = [
            torch.zeros_like(weight) if needs else None
            for weight, needs in zip(weights, needed, strict=True)
        ]
        self._of = {id(w): value for w, value in zip(weights, self.values, strict=True)}

    def of(self, parameter: Tensor) -> Tensor | None:
        """Return the gradient of a weight, to add to; None if it is frozen."""
        return self._of[id(parameter)]


class _Characters(torch.autograd.Function):
    """Words as characters, (W, C) -> (W, F)."""

    @staticmethod
    def forward(ctx: Any, cnn: CharCnn, char_ids: Tensor, *weights: Tensor) -> Tensor:
        ctx.weights = weights
        ctx.passes = CharCnnGrad(cnn, Matmul(), _threads(char_ids))
        vectors: Tensor = ctx.passes.forward(char_ids)
        return vectors

    @staticmethod
    def backward(ctx: Any, *dvectors: Tensor) -> tuple[Tensor | None, ...]:
        gradients = _Weights(ctx.weights, ctx.needs_input_grad[2:])
        _taken_once(ctx).backward(dvectors[0], gradients)
        return None, None, *gradients.values


class _Directions(torch.autograd.Function):
    """Both directions' token vectors, each in its reading order, (2, N, p) -> (2, L, N, p)."""

    @staticmethod
    def forward(
        ctx: Any,
        stacks: tuple[LstmStack, LstmStack],
        n_sentences: int,
        vectors: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        shape = (vectors.shape[1] // n_sentences, n_sentences)
        passes = [LstmStackGrad(stack, Matmul(), shape) for stack in stacks]
        ctx.weights, ctx.passes, ctx.stacks = weights, passes, stacks
        n_layers = stacks[0].config.n_layers
        layers = vectors.new_empty(2, n_layers, *vectors.shape[1:])

        def read(direction: int) -> None:
            state = stacks[direction].zero_state(n_sentences, vectors)
            passes[direction].forward(vectors[direction], [], state, [])
            torch.stack(passes[direction].outputs, out=layers[direction])

        _threads(vectors).both(read)
        return layers

    @staticmethod
    def backward(ctx: Any, *dlayers: Tensor) -> tuple[Tensor | None, ...]:
        gradients = _Weights(ctx.weights, ctx.needs_input_grad[3:])
        needs_tokens = ctx.needs_input_grad[2]
        passes = _taken_once(ctx)
        dvectors = torch.zeros_like(dlayers[0][:, 0])

        def read(direction: int) -> None:
            *lower, last = dlayers[0][direction]
            lowest = 0 if needs_tokens else _lowest_learning(ctx.stacks[direction])
            found = passes[direction].backward(last, gradients, dlower=lower, lowest=lowest)
            if needs_tokens:
                dvectors[direction] = found

        _threads(dvectors).both(read)
        return None, None, dvectors if needs_tokens else None, *gradients.values


def _lowest_learning(stack: LstmStack) -> int:
    """Return the lowest layer that has a weight to learn, or the number of layers."""
    learns = [any(w.requires_grad for w in layer.parameters()) for layer in stack.layers]
    return learns.index(True) if any(learns) else len(learns)


def _taken_once(ctx: Any) -> Any:
    """Return what the forward pass stored, which the backward pass overwrites."""
    passes, ctx.passes = ctx.passes, None
    if passes is None:
        raise RuntimeError("the gradients of these layers were taken before; compute them again")
    return passes


def _threads(like: Tensor) -> TwoThreads:
    return _THREADS if like.device.type == "cpu" else _NO_THREADS
