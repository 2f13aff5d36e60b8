"""Token ids in, all layers of the biLM out, differentiable: the network that a task fine-tunes.

The layers and their gradients are those of model/bilm.py under autograd; a test holds both equal.
But each distinct word of a batch is encoded once, and both passes are those of pretraining, by
kernels. Weights that need no gradient cost none: with the lower layers frozen, the backward pass
ends above them.

Shapes: B sentences, T tokens, N = T B, W distinct words, L layers, p projection_dim, D = 2p.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.engine.parallel import run_all
from elmore.engine.training.char_cnn import CharCnnTraining
from elmore.engine.training.lstm import DirectionTraining
from elmore.errors import DataError
from elmore.kernels.gradients import Rows, add_rows
from elmore.kernels.library import Floats
from elmore.model.bilm import BiLM, prefix_mask, reversal
from elmore.model.char_cnn import CharCnn
from elmore.model.lstm import LstmStack

Arrays = dict[str, Floats]


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
    in_order = torch.stack([places, places.gather(0, reverse)]).flatten(1).int().numpy()
    stacks = (bilm.forward_lstm, bilm.backward_lstm)
    weights = [weight for stack in stacks for weight in stack.parameters()]
    both: Tensor = _Directions.apply(stacks, n_sentences, in_order, vectors, *weights)  # type: ignore[no-untyped-call]
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


class _Characters(torch.autograd.Function):
    """Words as characters, (W, C) -> (W, F)."""

    @staticmethod
    def forward(ctx: Any, cnn: CharCnn, char_ids: Tensor, *weights: Tensor) -> Tensor:
        ctx.names = [f"cnn.{name}" for name, _ in cnn.named_parameters()]
        ctx.arrays = _arrays(ctx.names, weights)
        ctx.passes = CharCnnTraining(ctx.arrays, "cnn", activation=cnn.activation)
        run_all(ctx.passes.pack_jobs())
        vectors = ctx.passes.forward(char_ids.int().numpy())
        return torch.from_numpy(np.ascontiguousarray(vectors))

    @staticmethod
    def backward(ctx: Any, *dvectors: Tensor) -> tuple[Tensor | None, ...]:
        gradients = _zeros(ctx, ctx.needs_input_grad[2:])
        _taken_once(ctx).backward(dvectors[0].numpy(), gradients)
        return None, None, *_tensors(ctx, gradients)


class _Directions(torch.autograd.Function):
    """Vectors of words (W, p), and each direction's words in its reading order, -> (2, L, N, p)."""

    @staticmethod
    def forward(
        ctx: Any,
        stacks: tuple[LstmStack, LstmStack],
        n_sentences: int,
        words: Rows,
        vectors: Tensor,
        *weights: Tensor,
    ) -> Tensor:
        config = stacks[0].config
        ctx.names = [
            f"{direction}.{name}"
            for direction, stack in enumerate(stacks)
            for name, _ in stack.named_parameters()
        ]
        ctx.arrays, ctx.words, ctx.config = _arrays(ctx.names, weights), words, config
        shape = (words.shape[1] // n_sentences, n_sentences)
        passes = [DirectionTraining(config, ctx.arrays, str(d), shape) for d in range(2)]
        ctx.passes, ctx.n_words = passes, len(vectors)
        zero = tuple(
            np.zeros((config.n_layers, n_sentences, dim), np.float32)
            for dim in (config.projection_dim, config.cell_dim)
        )
        run_all([job for one in passes for job in one.pack_jobs()])
        x = np.ascontiguousarray(vectors.detach().numpy())
        run_all([
            job
            for one, some in zip(passes, words, strict=True)
            for job in one.forward_jobs(x, some, (zero[0], zero[1]))
        ])  # fmt: skip
        return torch.from_numpy(np.stack([np.stack(one.outputs) for one in passes]))

    @staticmethod
    def backward(ctx: Any, *dlayers: Tensor) -> tuple[Tensor | None, ...]:
        gradients = _zeros(ctx, ctx.needs_input_grad[4:])
        needs_vectors = ctx.needs_input_grad[3]
        lowest = [
            0 if needs_vectors else _lowest_learning(gradients, str(direction), ctx.config.n_layers)
            for direction in range(2)
        ]
        passes = _taken_once(ctx)
        given = [layers.numpy() for layers in dlayers[0].contiguous()]
        jobs = [
            one.backward_jobs(layers[-1].copy(), dlower=[*layers[:-1]], lowest=low)
            for one, layers, low in zip(passes, given, lowest, strict=True)
        ]
        run_all([job for some in jobs for job in some])
        run_all([
            job
            for one, low in zip(passes, lowest, strict=True)
            for job in one.weight_jobs(gradients, lowest=low)
        ])  # fmt: skip
        dvectors = None
        if needs_vectors:
            found = np.zeros((ctx.n_words, ctx.config.projection_dim), np.float32)
            for one, words in zip(passes, ctx.words, strict=True):
                add_rows(found, words, one.dvectors)
            dvectors = torch.from_numpy(found)
        return None, None, None, dvectors, *_tensors(ctx, gradients)


def _arrays(names: Sequence[str], weights: Sequence[Tensor]) -> Arrays:
    return {name: w.detach().numpy() for name, w in zip(names, weights, strict=True)}


def _zeros(ctx: Any, needed: Sequence[bool]) -> Arrays:
    """Return a gradient to add to for each weight that needs one."""
    return {
        name: np.zeros_like(ctx.arrays[name])
        for name, needs in zip(ctx.names, needed, strict=True)
        if needs
    }


def _tensors(ctx: Any, gradients: Arrays) -> list[Tensor | None]:
    return [torch.from_numpy(gradients[name]) if name in gradients else None for name in ctx.names]


def _lowest_learning(gradients: Arrays, direction: str, n_layers: int) -> int:
    """Return the lowest layer that has a weight to learn, or the number of layers."""
    learning = {int(name.split(".")[2]) for name in gradients if name.startswith(f"{direction}.")}
    return min(learning, default=n_layers)


def _taken_once(ctx: Any) -> Any:
    """Return what the forward pass stored, which the backward pass overwrites."""
    passes, ctx.passes = ctx.passes, None
    if passes is None:
        raise RuntimeError("the gradients of these layers were taken before; compute them again")
    return passes
