"""States in, log-probabilities of words out: the output layer that both directions share."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Softmax(nn.Module):
    """A full softmax over V words."""

    def __init__(self, n_words: int, projection_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_words, projection_dim))
        self.bias = nn.Parameter(torch.empty(n_words))

    def forward(self, states: Tensor, words: Tensor) -> Tensor:
        """Return the log-probability of each word (N,) after its state (N, p)."""
        logits = F.linear(states, self.weight, self.bias)
        return logits.gather(1, words[:, None])[:, 0] - logits.logsumexp(dim=1)
