"""The top layer in, the states that predict each token out.

The biLM's objective is the sum over all tokens k of log p(t_k | t_1 … t_k-1) and
log p(t_k | t_k+1 … t_n). The first comes from the forward state before the token, the second from
the backward state after it, both by the same softmax. Neither state has read the token itself.

Shapes: L+1 layers, T tokens (sentence marks included), p projection_dim, D = 2p.
"""

import numpy as np

from elmore.kernels.library import Floats


def context_states(top: Floats) -> Floats:
    """Return [forward state before; backward state after] each token of (T, D).

    Before the first token and after the last, that half is 0, the initial state of an LSTM.
    """
    p = top.shape[1] // 2
    states = np.zeros_like(top)
    states[1:, :p], states[:-1, p:] = top[:-1, :p], top[1:, p:]
    return states


def expected_states(top: Floats) -> Floats:
    """Return the sum of both states, (T, p): its softmax logits are the sum of theirs."""
    states, p = context_states(top), top.shape[1] // 2
    expected: Floats = states[:, :p] + states[:, p:]
    return expected


def with_context_layer(layers: Floats) -> Floats:
    """Add the context states to (L + 1, T, D) as one more layer."""
    return np.concatenate([layers, context_states(layers[-1])[None]])
