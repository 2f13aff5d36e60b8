"""The top layer in, the states that predict each token out.

The biLM's objective is the sum over all tokens k of log p(t_k | t_1 … t_k-1) and
log p(t_k | t_k+1 … t_n). The first comes from the forward state before the token, the second from
the backward state after it, both by the same softmax. Neither state has read the token itself.

Shapes: L+1 layers, T tokens (sentence marks included), p projection_dim, D = 2p.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def context_states(top: Tensor) -> Tensor:
    """Return [forward state before; backward state after] each token of (..., T, D).

    Before the first token and after the last, that half is 0, the initial state of an LSTM.
    """
    forward, backward = top.chunk(2, dim=-1)
    return torch.cat([F.pad(forward, (0, 0, 1, -1)), F.pad(backward, (0, 0, -1, 1))], dim=-1)


def expected_states(top: Tensor) -> Tensor:
    """Return the sum of both states, (..., T, p): its softmax logits are the sum of theirs."""
    before, after = context_states(top).chunk(2, dim=-1)
    return before + after


def with_context_layer(layers: Tensor) -> Tensor:
    """Add the context states to (L + 1, ..., T, D) as one more layer."""
    return torch.cat([layers, context_states(layers[-1])[None]])
