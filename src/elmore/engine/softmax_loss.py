"""States in, the loss of their target words and its gradients out: the softmax in training.

The softmax scores candidates: all words, or a sample of them. With a sample each logit is corrected
by the log of the word's expected count among the samples, and a sample that equals the target is
left out (an accidental hit). Logits are computed some rows at a time, small enough for the
processor's cache, and overwritten by their gradient.

Shapes: N tokens, V words, S samples, U candidates with a gradient, p projection_dim.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from elmore.engine.matmul import Matmul
from elmore.engine.negative_sampling import Samples
from elmore.model.softmax import Softmax

MAX_LOGITS = 2**20  # at once: 4 MB in each thread


@dataclass(frozen=True)
class Candidates:
    """The rows of the softmax that a batch touches: the scored words, then the other targets."""

    rows: Tensor | None
    """(U,) the words, all distinct; None for all words in order."""
    n_scored: int
    """The number of them that are scored for every token: the samples, or all words."""
    weight: Tensor
    """(U, p) their weights."""
    bias: Tensor
    """(U,) their biases, corrected where words are sampled."""

    @classmethod
    def all_words(cls, softmax: Softmax) -> "Candidates":
        """Score every word."""
        weight, bias = softmax.weight.detach(), softmax.bias.detach()
        return cls(None, len(bias), weight, bias)

    @classmethod
    def of(cls, softmax: Softmax, samples: Samples, targets: Tensor) -> "Candidates":
        """Score the samples; `targets` are all target words."""
        words = samples.words.to(targets.device)
        places = _places(words, len(softmax.bias))
        others = torch.unique(targets)
        others = others[places[others] < 0]
        rows = torch.cat([words, others])
        bias = softmax.bias.detach()[rows] - samples.log_expected.to(rows.device)[rows]
        return cls(rows, len(words), softmax.weight.detach()[rows], bias)

    def places_of(self, words: Tensor, n_words: int) -> Tensor:
        """Return the indices of the words (N,) among the candidates."""
        return words if self.rows is None else _places(self.rows, n_words)[words]


def _places(rows: Tensor, n_words: int) -> Tensor:
    """Return the index of each of V words in rows (U,), -1 for those not in it."""
    places = torch.full((n_words,), -1, device=rows.device)
    places[rows] = torch.arange(len(rows), device=rows.device)
    return places


class SoftmaxGradients:
    """The gradients of the candidates' weights (U, p) and biases (U,)."""

    def __init__(self, candidates: Candidates) -> None:
        self.weight = torch.zeros_like(candidates.weight)
        self.bias = torch.zeros_like(candidates.bias)


class SoftmaxLoss:
    """The loss of one direction, and its gradients."""

    def __init__(self, candidates: Candidates, products: Matmul) -> None:
        self.candidates, self.products = candidates, products
        self.gradients = SoftmaxGradients(candidates)
        n = candidates.n_scored
        self._scored = candidates.weight[:n]
        self._score_weight = products.operand(self._scored.T)
        self._state_weight = products.operand(self._scored)

    def __call__(self, states: Tensor, targets: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        """Score targets (N,), given as indices of candidates, after states (N, p).

        Return the negative log-likelihood of each (N,), and the gradient of `scale` times their sum
        with respect to the states; gradients of the candidates are accumulated.
        """
        n = self.candidates.n_scored
        losses = states.new_empty(len(states))
        dstates = torch.empty_like(states)
        rows = max(1, MAX_LOGITS // n)
        # Where words are sampled, column n is the target's own logit, and the rest is padding.
        is_full = self.candidates.rows is None
        buffer = states.new_empty(rows, n if is_full else -(-(n + 1) // 16) * 16)
        for start in range(0, len(states), rows):
            some = slice(start, start + rows)
            h, t = states[some], targets[some]
            logits = buffer[: len(h)]
            self.products.write_to(logits[:, :n], h, self._score_weight)
            logits[:, :n] += self.candidates.bias[:n]
            column = t
            if not is_full:
                weight = self.candidates.weight[t]
                logits[:, n:] = -torch.inf
                logits[:, n] = torch.linalg.vecdot(h, weight) + self.candidates.bias[t]
                hit = (t < n).nonzero()[:, 0]
                logits[hit, t[hit]] = -torch.inf
                column = torch.full_like(t, n)
            score = logits.gather(1, column[:, None])[:, 0]
            highest = logits.amax(dim=1)
            torch.softmax(logits, dim=1, out=logits)
            # the highest of the probabilities is exp(highest) / sum(exp): no other may be 0
            losses[some] = highest - logits.amax(dim=1).log() - score
            logits.mul_(scale)
            logits.scatter_add_(1, column[:, None], logits.new_full((len(h), 1), -scale))
            self._backward(logits, h, t, dstates[some])
        return losses, dstates

    def _backward(self, dlogits: Tensor, h: Tensor, targets: Tensor, dh: Tensor) -> None:
        n, products = self.candidates.n_scored, self.products
        scored = dlogits[:, :n]
        products.write_to(dh, scored, self._state_weight)
        products.add_to(self.gradients.weight[:n], scored.T, products.operand(h))
        self.gradients.bias[:n] += scored.sum(dim=0)
        if self.candidates.rows is not None:
            of_target = dlogits[:, n, None]
            dh.addcmul_(of_target, self.candidates.weight[targets])
            self.gradients.weight.index_add_(0, targets, of_target * h)
            self.gradients.bias.index_add_(0, targets, dlogits[:, n])
