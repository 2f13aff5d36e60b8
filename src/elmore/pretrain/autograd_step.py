"""The losses and gradients of an update on a GPU: the network of model/ under autograd.

The weights are copied to the GPU before each update, and the gradients back after it; all else of a
run is what it is on a CPU, the random numbers too.

Shapes: T steps, B streams, N = T B tokens, W distinct words, U candidates, p projection_dim.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.bilm_config import BiLMConfig
from elmore.engine.negative_sampling import Samples
from elmore.engine.parameters import Parameters
from elmore.engine.training.dropout import Dropout
from elmore.engine.training.softmax import candidate_rows
from elmore.engine.training.token_encoder import RowGradient, touched_rows
from elmore.kernels.gradients import Rows
from elmore.model.bilm import BiLM
from elmore.model.lstm import LstmLayer, LstmStack
from elmore.pretrain.config import TrainingConfig
from elmore.pretrain.step import (
    SOFTMAX_BIAS,
    SOFTMAX_WEIGHT,
    WORD_TABLE,
    Ids,
    States,
    Step,
    StreamState,
    Update,
    Window,
)


class AutogradStep(Step):
    """Computes the gradients by autograd."""

    def __init__(
        self,
        shape: BiLMConfig,
        parameters: Parameters,
        config: TrainingConfig,
        encode_ids: Callable[[Ids], npt.NDArray[np.integer]],
        *,
        device: str,
        **options: Any,
    ) -> None:
        super().__init__(shape, parameters, config, encode_ids, **options)
        self.device = torch.device(device)
        self.bilm = BiLM.from_arrays(shape, dict(self.arrays)).to(self.device)
        self.bilm.requires_grad_(True)

    def __call__(
        self, windows: Sequence[tuple[Window, Window]], states: States, number: int
    ) -> Update:
        """Compute the gradients of update `number` over its windows (forward, backward)."""
        with torch.no_grad():
            for name, weight in self.bilm.named_parameters():
                weight.copy_(torch.from_numpy(self.arrays[name]))
        self.bilm.zero_grad()
        samples = self.samples(number)
        targets = [[self.targets(window) for window in pair] for pair in windows]
        kept = [self.kept_rows(number, place) for place in range(len(windows))]
        losses: list[list[float]] = [[], []]
        for place, pair in enumerate(windows):
            vectors = self._vectors(pair, kept[place])
            found = [
                self._read(direction, vectors[direction], pair[direction], states[direction],
                           self.dropouts(number, place, direction))
                for direction in range(2)
            ]  # fmt: skip
            nll = [
                self._losses(some, words, samples)
                for (some, _), words in zip(found, targets[place], strict=True)
            ]
            (self.scale * torch.stack(nll).sum()).backward()  # type: ignore[no-untyped-call]
            losses = [[*a, *b.tolist()] for a, b in zip(losses, nll, strict=True)]
            states = (found[0][1], found[1][1])
        every = self.gather(np.concatenate([t for pair in targets for t in pair]))
        rows: dict[str, Rows | None] = dict.fromkeys((SOFTMAX_WEIGHT, SOFTMAX_BIAS))
        if samples is not None:
            rows = dict.fromkeys(rows, candidate_rows(samples.words, every, self.n_words))
        if WORD_TABLE in self.arrays:
            numbers = [self.encode_ids(self.words(pair))[:, -1] for pair in windows]
            rows[WORD_TABLE] = touched_rows([some.astype(np.int64) for some in numbers], kept)
        gradients = {name: _gradient(weight) for name, weight in self.bilm.named_parameters()}
        for name, gradient in self.gradients.arrays.items():
            gradient[...] = gradients[name]
        of_rows = {
            name: RowGradient(some, np.ascontiguousarray(gradients[name][_all_or(some)]))
            for name, some in rows.items()
        }
        n_tokens = sum(window.targets.size for window, _ in windows)
        forward, backward = (math.fsum(some) / n_tokens for some in losses)
        return Update((forward, backward), of_rows, states)

    def _vectors(
        self, pair: tuple[Window, Window], kept: npt.NDArray[np.bool_]
    ) -> tuple[Tensor, Tensor]:
        """Return the token vectors of each direction, (T, B, p)."""
        inputs = np.stack([window.inputs for window in pair])
        words, places = np.unique(inputs, return_inverse=True)
        ids = self.encode_ids(words).astype(np.int64)
        if WORD_TABLE in self.arrays:
            numbers = ids[:, -1]
            ids[:, -1] = np.where((numbers > 0) & kept[numbers - 1], numbers, 0)
        vectors = self.bilm.token_encoder(torch.from_numpy(ids).to(self.device))
        tokens = torch.from_numpy(places.reshape(inputs.shape)).to(self.device)
        forward, backward = vectors[tokens]
        return forward, backward

    def _read(
        self,
        direction: int,
        x: Tensor,
        window: Window,
        state: StreamState,
        dropouts: Sequence[Dropout],
    ) -> tuple[Tensor, StreamState]:
        """Read token vectors (T, B, p); return the last layer's output (N, p) and the state."""
        stack = (self.bilm.forward_lstm, self.bilm.backward_lstm)[direction]
        assert isinstance(stack, LstmStack)
        is_zero = self.config.state == "zero"
        starts = torch.from_numpy(window.starts).to(self.device)[:, :, None] & is_zero
        masks = [self._mask(dropout, x) for dropout in dropouts]
        hs, cs = [], []
        for depth, layer in enumerate(stack.layers):
            assert isinstance(layer, LstmLayer)
            x = x * masks[depth] if masks else x
            h, c = (torch.from_numpy(part[depth]).to(self.device) for part in (state.h, state.c))
            outputs = []
            for x_t, starts_t in zip(x, starts, strict=True):
                h, c = layer.step(x_t, h.masked_fill(starts_t, 0), c.masked_fill(starts_t, 0))
                outputs.append(h)
            y = torch.stack(outputs)
            x = x + y if stack.config.skip_connections and depth > 0 else y
            hs.append(h.numpy(force=True))
            cs.append(c.numpy(force=True))
        x = x * masks[-1] if masks else x
        return x.flatten(0, 1), StreamState(np.stack(hs), np.stack(cs))

    def _mask(self, dropout: Dropout, x: Tensor) -> Tensor:
        """Return the dropout mask of this process's streams, (T, B, p)."""
        n_steps, _, p = x.shape
        mask = np.ones((n_steps, self.config.batch_size, p), np.float32)
        dropout.drop(mask)
        return torch.from_numpy(mask[:, self.streams].copy()).to(self.device)

    def _losses(self, states: Tensor, targets: Rows, samples: Samples | None) -> Tensor:
        """Return the negative log-likelihood of each target (N,) after its state (N, p)."""
        assert self.bilm.softmax is not None
        weight, bias = self.bilm.softmax.weight, self.bilm.softmax.bias
        wanted = torch.from_numpy(targets.astype(np.int64)).to(self.device)
        if samples is None or self.sampler is None:
            return F.cross_entropy(F.linear(states, weight, bias), wanted, reduction="none")
        every = self.sampler.log_expected(samples, np.arange(self.n_words, dtype=np.int32))
        corrected = bias - torch.from_numpy(every).to(self.device)
        scored = torch.from_numpy(samples.words.astype(np.int64)).to(self.device)
        own = (states * weight[wanted]).sum(dim=1) + corrected[wanted]
        others = F.linear(states, weight[scored], corrected[scored])
        others = others.masked_fill(scored == wanted[:, None], -math.inf)  # accidental hits
        return torch.cat([own[:, None], others], dim=1).logsumexp(dim=1) - own


def _gradient(weight: Tensor) -> npt.NDArray[np.float32]:
    found = torch.zeros_like(weight) if weight.grad is None else weight.grad
    array: npt.NDArray[np.float32] = found.numpy(force=True)
    return array


def _all_or(rows: Rows | None) -> Any:
    return slice(None) if rows is None else rows
