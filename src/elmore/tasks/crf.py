"""A linear-chain CRF: the best sequence of tags instead of the best tag of each word.

The score of tags y for a sentence with emissions e is

    start[y_1] + sum_t e[t, y_t] + sum_t transitions[y_{t-1}, y_t] + end[y_T]

and its probability the exponential of that over the sum for all sequences (Lafferty et al. 2001).

Shapes: B sentences, T words, K tags. Masks are true at real words, which come first in each row.
"""

import torch
from torch import Tensor, nn

_NEVER = -1e4  # the score of what is not allowed; far below any other, and no infinity in sums


class Crf(nn.Module):
    """Scores and finds sequences of tags.

    `allowed`, (K + 2, K + 2), says which tag may follow which; its last two rows and columns are
    the beginning and the end of a sentence. Only the search obeys it, as is usual.
    """

    allowed: Tensor

    def __init__(self, n_tags: int, allowed: Tensor | None = None) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.empty(n_tags))
        self.transitions = nn.Parameter(torch.empty(n_tags, n_tags))
        self.end = nn.Parameter(torch.empty(n_tags))
        if allowed is None:
            allowed = torch.ones(n_tags + 2, n_tags + 2, dtype=torch.bool)
        self.register_buffer("allowed", allowed, persistent=False)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def forward(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability of `tags` (B, T) given `emissions` (B, T, K), (B,)."""
        return self._score(emissions, tags, mask) - self._log_sum(emissions, mask)

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        weights = mask.to(emissions.dtype)
        emitted = emissions.gather(2, tags[:, :, None])[:, :, 0]
        passed = self.transitions[tags[:, :-1], tags[:, 1:]]
        last = tags.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]
        return (
            self.start[tags[:, 0]]
            + (emitted * weights).sum(1)
            + (passed * weights[:, 1:]).sum(1)
            + self.end[last]
        )

    def _log_sum(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return the logarithm of the sum over all sequences, (B,)."""
        alpha = self.start + emissions[:, 0]  # (B, K): of all that end in a tag here
        for t in range(1, emissions.shape[1]):
            longer = torch.logsumexp(alpha[:, :, None] + self.transitions, dim=1) + emissions[:, t]
            alpha = torch.where(mask[:, t, None], longer, alpha)
        return torch.logsumexp(alpha + self.end, dim=1)

    def marginals(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """Return the probability of each tag of each word, (B, T, K), 0 at padding.

        It is how the sum over all sequences grows with that tag's emission.
        """
        emissions = emissions.detach().requires_grad_()
        (found,) = torch.autograd.grad(self._log_sum(emissions, mask).sum(), emissions)
        return found

    @torch.no_grad()
    def decode(self, emissions: Tensor, mask: Tensor) -> list[list[int]]:
        """Return the most probable allowed tags of each sentence (Viterbi)."""
        n_tags = emissions.shape[2]
        never = torch.where(self.allowed, 0.0, _NEVER).to(emissions)
        transitions = self.transitions + never[:n_tags, :n_tags]
        start, end = self.start + never[-2, :n_tags], self.end + never[:n_tags, -1]
        best = start + emissions[:, 0]  # (B, K): the score of the best that ends in a tag here
        came_from = []
        for t in range(1, emissions.shape[1]):
            longer, before = (best[:, :, None] + transitions).max(dim=1)
            best = torch.where(mask[:, t, None], longer + emissions[:, t], best)
            came_from.append(before)
        last = (best + end).argmax(dim=1).tolist()
        steps = [before.tolist() for before in came_from]
        found = []
        for sentence, length in enumerate(mask.sum(1).tolist()):
            tags = [last[sentence]]
            for t in range(length - 2, -1, -1):
                tags.append(steps[t][sentence][tags[-1]])
            found.append(tags[::-1])
        return found
