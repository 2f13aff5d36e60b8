"""The top layer and the word ids of some text in, the log-probability of each word out.

The forward state before a token and the backward state after it both predict it, by the one full
softmax. `Elmo.scores` and perplexity are made of this.

Shapes: N tokens of one sentence or of several in a row, marks included; V words, p projection_dim,
D = 2p.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from elmore.model.context import context_states
from elmore.model.softmax import Softmax

MAX_LOGITS = 2**22  # at once: 16 MB


@dataclass(frozen=True)
class WordLogProbs:
    """Log-probabilities of words, one for each place that was asked for."""

    forward: Tensor
    """log p(word | the words before it)."""
    backward: Tensor
    """log p(word | the words after it)."""


def word_log_probs(
    softmax: Softmax,
    top: Tensor,
    word_ids: Tensor,
    *,
    forward: Tensor | slice,
    backward: Tensor | slice,
) -> WordLogProbs:
    """Score the words (N,), rows of the softmax, by the top layer (N, D) of their text.

    `forward` and `backward` say which places to score from the words before and after them: a
    mask (N,) or a slice. The first token of a sentence has nothing before it, the last nothing
    after it.
    """
    before, after = context_states(top).chunk(2, dim=1)
    return WordLogProbs(
        _log_probs(softmax, before[forward], word_ids[forward]),
        _log_probs(softmax, after[backward], word_ids[backward]),
    )


def _log_probs(softmax: Softmax, states: Tensor, word_ids: Tensor) -> Tensor:
    """Return the log-probability of each word after its state (N, p), some logits at a time."""
    n_rows = max(1, MAX_LOGITS // len(softmax.bias))
    starts = range(0, max(1, len(states)), n_rows)
    return torch.cat([softmax(states[k : k + n_rows], word_ids[k : k + n_rows]) for k in starts])
