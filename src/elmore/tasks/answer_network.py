"""The network of `QuestionAnswerer`: Clark and Gardner 2017, the paper's baseline for SQuAD.

A biGRU reads the question and the text, each token of the text attends to the question (trilinear,
in both directions: BiDAF), then to the other tokens of the text (residual self-attention), and two
more biGRUs, one on top of the other, score each token as the first and as the last of the answer.

A span's probability is exp(start + end) over the sum for all pairs of tokens and, where a question
may have no answer, exp(none). Memory grows with the length of a text, not with its square: rows of
the self-attention are computed in blocks.

Shapes: B questions, T tokens of the text, J of the question, H hidden_dim, D = 2H and the
dimensions that are added at the output.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmore.tasks.input_networks import TokenBatch, TokenInput
from elmore.tasks.networks import BiGru, beside, masked_softmax
from elmore.tasks.task import Batch

_NEVER = -1e4  # far below any score, and no infinity in sums
_ROWS_AT_ONCE = 512
_NONE_DIM = 80


class SpanScores(NamedTuple):
    """The scores of B texts; _NEVER at padding."""

    start: Tensor
    """(B, T)"""
    end: Tensor
    """(B, T)"""
    none: Tensor | None
    """(B,), that there is no answer; None where there always is one."""

    def log_sum(self) -> Tensor:
        """Return the logarithm of the sum over all answers, (B,)."""
        spans = self.start.logsumexp(1) + self.end.logsumexp(1)
        return spans if self.none is None else torch.logaddexp(spans, self.none)


class BestSpan(NamedTuple):
    """The best answer."""

    tokens: tuple[int, int] | None
    """Its first and last token; None for no answer."""
    probability: float


class _SequenceDropout(nn.Module):
    """Dropout that drops the same dimensions of all tokens of a text (Gal and Ghahramani 2016)."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, vectors: Tensor) -> Tensor:
        if not self.training or not self.p:
            return vectors
        kept = F.dropout(vectors.new_ones(vectors.shape[0], 1, vectors.shape[2]), self.p)
        return vectors * kept


class _Trilinear(nn.Module):
    """The similarity of two tokens: u . a + v . b + w . (a * b)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.own = nn.Linear(dim, 1, bias=False)
        self.other = nn.Linear(dim, 1, bias=False)
        self.product = nn.Parameter(torch.empty(dim))
        nn.init.uniform_(self.product, -(dim**-0.5), dim**-0.5)

    def forward(self, own: Tensor, other: Tensor) -> Tensor:
        """Return the similarity of each of (B, T, D) to each of (B, J, D), (B, T, J)."""
        both = (own * self.product) @ other.transpose(1, 2)
        found: Tensor = both + self.own(own) + self.other(other).transpose(1, 2)
        return found


class SpanNetwork(nn.Module):
    """Scores the spans of a text as answers to a question."""

    def __init__(
        self, tokens: TokenInput, *, hidden_dim: int, dropout: float, may_be_none: bool
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.dropout = _SequenceDropout(dropout)
        self.encode = BiGru(tokens.dim, hidden_dim)
        dim, merged = 2 * hidden_dim + tokens.output_dim, 2 * hidden_dim
        self.similar = _Trilinear(dim)
        self.merge = nn.Linear(4 * dim, merged)
        self.read = BiGru(merged, hidden_dim)
        self.self_similar = _Trilinear(merged)
        self.self_merge = nn.Linear(3 * merged, merged)
        self.read_start = BiGru(merged, hidden_dim)
        self.score_start = nn.Linear(2 * hidden_dim, 1)
        self.read_end = BiGru(merged + 2 * hidden_dim, hidden_dim)
        self.score_end = nn.Linear(2 * hidden_dim, 1)
        self.score_none = None
        if may_be_none:
            self.score_none = nn.Sequential(
                nn.Linear(2 * merged, _NONE_DIM), nn.ReLU(), nn.Linear(_NONE_DIM, 1)
            )

    def forward(self, batch: Batch) -> SpanScores:
        """Return the scores of all spans."""
        asked, told = batch.sides
        question, text = self._encode(asked), self._encode(told)
        merged = self._attend(text, question, told.mask, asked.mask)
        merged = merged + self._attend_self(self.dropout(merged), told.mask)
        first = self.read_start(self.dropout(merged), told.mask)
        last = self.read_end(self.dropout(torch.cat([merged, first], dim=2)), told.mask)
        start = self.score_start(first)[:, :, 0].masked_fill(~told.mask, _NEVER)
        end = self.score_end(last)[:, :, 0].masked_fill(~told.mask, _NEVER)
        none = None
        if self.score_none is not None:
            likely = [(s.softmax(1)[:, None] @ merged)[:, 0] for s in (start, end)]
            none = self.score_none(torch.cat(likely, dim=1))[:, 0]
        return SpanScores(start, end, none)

    def _encode(self, side: TokenBatch) -> Tensor:
        vectors, at_output = self.tokens(side)
        read = self.encode(self.dropout(vectors), side.mask)
        dropped: Tensor = self.dropout(beside(read, at_output))
        return dropped

    def _attend(
        self, text: Tensor, question: Tensor, text_mask: Tensor, question_mask: Tensor
    ) -> Tensor:
        """Return the text beside what it attends to in the question, (B, T, 2H)."""
        similarity = self.similar(text, question)
        attended = masked_softmax(similarity, question_mask[:, None]) @ question
        best = similarity.masked_fill(~question_mask[:, None], _NEVER).amax(2)
        # What of the text is most like the question, the same for all its tokens, (B, 1, D).
        common = masked_softmax(best, text_mask)[:, None] @ text
        together = torch.cat([text, attended, text * attended, attended * common], dim=2)
        return F.relu(self.merge(together))

    def _attend_self(self, merged: Tensor, mask: Tensor) -> Tensor:
        """Return what each token attends to among the others, (B, T, 2H)."""
        read = self.dropout(self.read(merged, mask))
        places = torch.arange(mask.shape[1])
        found = []
        for first in range(0, mask.shape[1], _ROWS_AT_ONCE):
            some = read[:, first : first + _ROWS_AT_ONCE]
            own = places[first : first + _ROWS_AT_ONCE, None] == places
            similarity = self.self_similar(some, read)
            attended = masked_softmax(similarity, mask[:, None] & ~own) @ read
            found.append(
                F.relu(self.self_merge(torch.cat([some, attended, some * attended], dim=2)))
            )
        return torch.cat(found, dim=1)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-likelihood of the right answers."""
        assert batch.targets is not None
        scores = self(batch)
        first, last = batch.targets.clamp(min=0).unbind(1)
        right = scores.start.gather(1, first[:, None]) + scores.end.gather(1, last[:, None])
        right = right[:, 0]
        if scores.none is not None:
            right = torch.where(batch.targets[:, 0] < 0, scores.none, right)
        loss: Tensor = (scores.log_sum() - right).mean()
        return loss


def best_spans(scores: SpanScores, mask: Tensor, max_tokens: int) -> list[BestSpan]:
    """Return the best span of at most `max_tokens` of each text, or that there is no answer."""
    n_last = min(max_tokens, mask.shape[1])
    ends = F.pad(scores.end, (0, n_last - 1), value=2 * _NEVER).unfold(1, n_last, 1)
    spans = (scores.start[:, :, None] + ends).flatten(1)  # (B, T n_last), by start, then length
    best, places = spans.max(1)
    log_sum = scores.log_sum()
    none = torch.full_like(best, -torch.inf) if scores.none is None else scores.none
    chosen = torch.maximum(best, none)
    found = []
    for place, is_none, probability in zip(
        places.tolist(),
        (none > best).tolist(),
        (chosen - log_sum).double().exp().tolist(),
        strict=True,
    ):
        first, more = divmod(place, n_last)
        found.append(BestSpan(None if is_none else (first, first + more), probability))
    return found
