"""The biLM's training step as a textbook has it: slow, obvious, autograd all the way.

In: a window of each direction's streams, its dropout masks, the softmax's samples, and the state
that the window before left. Out: the loss of each direction and, from the trainer, new weights.

Every token's characters are convolved, however often the word occurs; cells are run one at a time;
gradients are dense. The recipe is bilm-tf's (PARITY, "Training"). The directions read independent
streams, each in its own order, so that both are read from the left here.

Letters: B streams, T steps, C characters, V words, S samples, p projection_dim, N = B * T.
"""

import math
import random
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from elmore import BiLM
from elmore.model.bilm import BiLMState
from elmore.model.lstm import LstmLayer, LstmStack, LstmState
from elmore.model.softmax import Softmax


@dataclass(frozen=True)
class Batch:
    """One direction's window, in the order in which it is read."""

    char_ids: Tensor
    """The tokens read, each spelled out, (B, T, C) int64."""
    targets: Tensor
    """The token after each, as a row of the softmax, (B, T) int64."""
    starts: Tensor | None = None
    """(B, T), true where a stream begins from nothing; without it, it never does."""


@dataclass(frozen=True)
class Masks:
    """One direction's dropout: 0 or 1 / (1 - rate), to be multiplied."""

    inputs: list[Tensor]
    """For each layer (B, T, p), onto what its cells read; the residual sees the product."""
    output: Tensor
    """(B, T, p), onto the top layer's output before the softmax."""


@dataclass(frozen=True)
class Sampled:
    """The words that stand for all others in the sampled softmax; both directions have the same."""

    ids: Tensor
    """Different words, (S,) int64."""
    log_q: Tensor
    """The logarithm of each word's expected count among the samples, (V,)."""


# --- what is drawn --------------------------------------------------------------------------------


def draw_masks(bilm: BiLM, n_streams: int, n_steps: int, rate: float) -> Masks:
    """Draw one direction's masks from torch's own generator."""
    dtype = next(bilm.parameters()).dtype
    shape = (n_streams, n_steps, bilm.config.lstm.projection_dim)

    def draw() -> Tensor:
        return (torch.rand(shape) >= rate).to(dtype) / (1 - rate)

    return Masks([draw() for _ in range(bilm.config.lstm.n_layers)], draw())


def log_uniform_expected_counts(n_words: int, n_tries: int) -> Tensor:
    """Return how often each word is expected in `n_tries` draws of which repetitions are dropped.

    (V,) float64. Words are sorted by frequency: p(k) = log((k + 2) / (k + 1)) / log(V + 1).
    """
    k = torch.arange(n_words, dtype=torch.float64)
    p = torch.log((k + 2) / (k + 1)) / math.log(n_words + 1)
    return -torch.expm1(n_tries * torch.log1p(-p))  # 1 - (1 - p) ** n_tries


def draw_samples(n_words: int, n_samples: int, generator: random.Random) -> Sampled:
    """Draw words by the log-uniform law until `n_samples` different ones are found."""
    assert n_samples <= n_words
    found: dict[int, None] = {}
    n_tries = 0
    while len(found) < n_samples:
        # The law's inverse: P(word <= k) = log(k + 2) / log(V + 1).
        word = int(math.exp(generator.random() * math.log(n_words + 1))) - 1
        found[min(word, n_words - 1)] = None  # rounding could reach V
        n_tries += 1
    return Sampled(torch.tensor(list(found)), log_uniform_expected_counts(n_words, n_tries).log())


# --- the loss -------------------------------------------------------------------------------------


def zero_state(bilm: BiLM, n_streams: int) -> BiLMState:
    """Return the state before the first window."""
    like = next(bilm.parameters())
    return BiLMState(
        bilm.forward_lstm.zero_state(n_streams, like),
        bilm.backward_lstm.zero_state(n_streams, like),
    )


def textbook_loss(
    bilm: BiLM,
    forward: Batch,
    backward: Batch,
    state: BiLMState,
    *,
    samples: Sampled | None,
    masks: tuple[Masks, Masks] | None,
) -> tuple[Tensor, Tensor, BiLMState]:
    """Return the mean cross-entropy of each direction, and the state after, detached.

    Without `samples` the softmax is over all words; without `masks` nothing is dropped.
    """
    assert bilm.softmax is not None
    forward_masks, backward_masks = masks or (None, None)
    tops, states = [], []
    for stack, batch, before, dropout in (
        (bilm.forward_lstm, forward, state.forward, forward_masks),
        (bilm.backward_lstm, backward, state.backward, backward_masks),
    ):
        vectors = bilm.token_encoder(batch.char_ids)
        top, after = _read(stack, vectors, before, dropout, batch.starts)
        tops.append(top.flatten(0, 1))
        states.append(after)
    forward_loss, backward_loss = (
        _full_cross_entropy(bilm.softmax, top, batch.targets.flatten())
        if samples is None
        else _sampled_cross_entropy(bilm.softmax, top, batch.targets.flatten(), samples)
        for top, batch in zip(tops, (forward, backward), strict=True)
    )
    return forward_loss, backward_loss, BiLMState(*states)


def _read(
    stack: LstmStack, x: Tensor, state: LstmState, masks: Masks | None, starts: Tensor | None
) -> tuple[Tensor, LstmState]:
    """Read token vectors x (B, T, p); return the top layer's output (B, T, p) and the state."""
    hs, cs = [], []
    for depth, layer in enumerate(stack.layers):
        assert isinstance(layer, LstmLayer)
        if masks is not None:
            x = x * masks.inputs[depth]
        h, c = state.h[depth], state.c[depth]
        outputs = []
        for t, x_t in enumerate(x.unbind(1)):
            if starts is not None:
                h, c = (s.masked_fill(starts[:, t, None], 0.0) for s in (h, c))
            h, c = layer.step(x_t, h, c)
            outputs.append(h)
        y = torch.stack(outputs, dim=1)
        # The residual is the dropped input; the recurrent h stays unsummed.
        x = y + x if stack.config.skip_connections and depth > 0 else y
        hs.append(h.detach())
        cs.append(c.detach())
    if masks is not None:
        x = x * masks.output
    return x, LstmState(torch.stack(hs), torch.stack(cs))


def _full_cross_entropy(softmax: Softmax, h: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over N of -log P(target), for h (N, p) and targets (N,)."""
    return F.cross_entropy(F.linear(h, softmax.weight, softmax.bias), targets)


def _sampled_cross_entropy(
    softmax: Softmax, h: Tensor, targets: Tensor, samples: Sampled
) -> Tensor:
    """Return the same among the target and the samples only, each less its log Q."""
    W, b, log_q = softmax.weight, softmax.bias, samples.log_q.to(h.dtype)
    true = (h * W[targets]).sum(dim=1) + b[targets] - log_q[targets]  # (N,)
    others = F.linear(h, W[samples.ids], b[samples.ids]) - log_q[samples.ids]  # (N, S)
    # A sample that happens to be the row's target is not a wrong answer.
    others = others.masked_fill(samples.ids == targets[:, None], -math.inf)
    logits = torch.cat([true[:, None], others], dim=1)
    return F.cross_entropy(logits, torch.zeros_like(targets))  # the target is class 0


# --- the step -------------------------------------------------------------------------------------


class TextbookTrainer:
    """Trains `bilm` in place, carrying the state from window to window."""

    def __init__(self, bilm: BiLM, learning_rate: float = 0.2, clip_norm: float = 10) -> None:
        self.bilm = bilm
        self.clip_norm = clip_norm
        self.state: BiLMState | None = None
        # TensorFlow's Adagrad: w -= rate * g / sqrt(1 + the sum of g ** 2 so far), and no epsilon.
        self.optimizer = torch.optim.Adagrad(
            bilm.parameters(), lr=learning_rate, initial_accumulator_value=1.0, eps=0.0
        )

    def step(
        self,
        forward: Batch,
        backward: Batch,
        samples: Sampled | None,
        masks: tuple[Masks, Masks] | None,
    ) -> tuple[float, float]:
        """Learn from one window; return its loss in each direction, before the step."""
        n_streams, n_steps = forward.targets.shape
        state = self.state or zero_state(self.bilm, n_streams)
        forward_loss, backward_loss, self.state = textbook_loss(
            self.bilm, forward, backward, state, samples=samples, masks=masks
        )
        self.optimizer.zero_grad()
        # The loss is a mean over the steps, the gradient a sum, as bilm-tf has it.
        ((forward_loss + backward_loss) / 2 * n_steps).backward()
        self._clip()
        self.optimizer.step()
        return forward_loss.item(), backward_loss.item()

    def _clip(self) -> None:
        """Scale all gradients so that together they are no longer than `clip_norm`."""
        # Row 0 of the characters is padding's, and its gradient is zero (padding_idx).
        gradients = [w.grad for w in self.bilm.parameters() if w.grad is not None]
        norm = math.sqrt(sum(g.double().square().sum().item() for g in gradients))
        if norm > self.clip_norm:
            for g in gradients:
                g.mul_(self.clip_norm / norm)
