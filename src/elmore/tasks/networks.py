"""The networks of the tasks, each a known strong baseline, small enough to read.

Each takes batches of tokens and gives scores. A second mix at the output is concatenated with what
the RNN gives, as in the paper's Table 3.

Shapes: B sentences, T tokens, H hidden_dim, K labels.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmore.engine.gru import gru
from elmore.tasks.crf import Crf
from elmore.tasks.input_networks import TokenBatch, TokenInput
from elmore.tasks.settings import ClassWeight
from elmore.tasks.task import Batch

_MARK_DIM = 16


def _reordered(vectors: Tensor, order: Tensor) -> Tensor:
    """Give the rows of (B, T, D) in another order."""
    return vectors.flatten(0, 1)[order].view_as(vectors)


def _mirrored(mask: Tensor) -> Tensor:
    """Return the order of rows in which each sentence of (B, T) is reversed, its padding is not."""
    places = torch.arange(mask.shape[1], device=mask.device)
    mirrored = torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)
    starts = mask.shape[1] * torch.arange(len(mask), device=mask.device)
    return (mirrored + starts[:, None]).flatten()


class BiLstm(nn.Module):
    """A bidirectional LSTM over the real tokens.

    Two LSTMs, one of which reads each sentence reversed. Packed sequences would give the same, but
    torch's fast LSTM does not take them.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, n_layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        dims = [input_dim] + [2 * hidden_dim] * (n_layers - 1)
        self.ahead = nn.ModuleList(nn.LSTM(dim, hidden_dim, batch_first=True) for dim in dims)
        self.back = nn.ModuleList(nn.LSTM(dim, hidden_dim, batch_first=True) for dim in dims)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Read (B, T, input_dim); return (B, T, 2H), 0 at padding."""
        order = _mirrored(mask)
        for depth, (ahead, back) in enumerate(zip(self.ahead, self.back, strict=True)):
            given = self.dropout(vectors) if depth else vectors
            read_back = _reordered(back(_reordered(given, order))[0], order)
            vectors = torch.cat([ahead(given)[0], read_back], dim=2)
        return vectors.masked_fill(~mask[:, :, None], 0.0)


class BiGru(nn.Module):
    """A bidirectional GRU over the real tokens, both directions computed at once."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.ahead, self.back = nn.GRU(input_dim, hidden_dim), nn.GRU(input_dim, hidden_dim)

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """Read (B, T, input_dim); return (B, T, 2H), 0 at padding."""
        order, dim = _mirrored(mask), self.ahead.hidden_size
        given = (vectors, _reordered(vectors, order))
        inputs, biases, recurrent = [], [], []
        for rnn, sentences in zip((self.ahead, self.back), given, strict=True):
            weight, recurrent_weight, bias, recurrent_bias = rnn.parameters()
            both = bias + F.pad(recurrent_bias[: 2 * dim], (0, dim))
            inputs.append(F.linear(sentences.transpose(0, 1), weight, both))
            biases.append(recurrent_bias[None, 2 * dim :])
            recurrent.append(recurrent_weight.T)
        states = gru(torch.stack(inputs, dim=1), torch.stack(biases), torch.stack(recurrent))
        ahead, back = states.transpose(0, 2).unbind(1)  # (B, T, H) each
        found = torch.cat([ahead, _reordered(back.contiguous(), order)], dim=2)
        return found.masked_fill(~mask[:, :, None], 0.0)


def beside(vectors: Tensor, other: Tensor | None) -> Tensor:
    """Concatenate what an RNN gives with what is added at its output, if anything is."""
    return vectors if other is None else torch.cat([vectors, other], dim=2)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax over the last dimension, 0 where the mask is false, even everywhere."""
    kept = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return kept.masked_fill(~mask, 0.0)


def _mean(vectors: Tensor, mask: Tensor) -> Tensor:
    return vectors.masked_fill(~mask[:, :, None], 0.0).sum(1) / mask.sum(1, keepdim=True)


class _LabelNetwork(nn.Module):
    """A network that gives each example a score for each label.

    `class_weights`, (K,), are those of the labels in the loss; None: all alike.
    """

    class_weights: Tensor | None

    def __init__(self, class_weights: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("class_weights", class_weights, persistent=False)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean cross-entropy."""
        assert batch.targets is not None
        return F.cross_entropy(self(batch), batch.targets, self.class_weights)


class TextNetwork(_LabelNetwork):
    """A biLSTM with attentive pooling, for one text.

    A layer of ReLUs, a biLSTM, pooling (maximum, mean, minimum, attention), and a maxout layer: the
    biattentive classification network (McCann et al. 2017) but for its attention and the second
    biLSTM that reads it, which took two thirds of the time.
    """

    def __init__(
        self, tokens: TokenInput, n_labels: int, *, hidden_dim: int, dropout: float,
        class_weights: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__(class_weights)
        self.tokens = tokens
        self.dropout = nn.Dropout(dropout)
        self.translate = nn.Linear(tokens.dim, hidden_dim)
        self.encode = BiLstm(hidden_dim, hidden_dim)
        pooled = 2 * hidden_dim + tokens.output_dim
        self.attend = nn.Linear(pooled, 1)
        self.maxout = nn.Linear(4 * pooled, 4 * hidden_dim)
        self.classify = nn.Linear(hidden_dim, n_labels)

    def forward(self, batch: Batch) -> Tensor:
        """Return the scores of the labels, (B, K)."""
        (side,) = batch.sides
        mask = side.mask
        vectors, at_output = self.tokens(side)
        encoded = self.encode(self.dropout(F.relu(self.translate(vectors))), mask)
        pooled = self.dropout(self._pool(beside(encoded, at_output), mask))
        hidden = self.maxout(pooled).unflatten(1, (-1, 4)).amax(dim=2)
        scores: Tensor = self.classify(self.dropout(hidden))
        return scores

    def _pool(self, vectors: Tensor, mask: Tensor) -> Tensor:
        hidden = ~mask[:, :, None]
        limit = torch.finfo(vectors.dtype).max
        weights = masked_softmax(self.attend(vectors)[:, :, 0], mask)
        return torch.cat(
            [
                vectors.masked_fill(hidden, -limit).amax(1),
                _mean(vectors, mask),
                vectors.masked_fill(hidden, limit).amin(1),
                (weights[:, None] @ vectors)[:, 0],
            ],
            dim=1,
        )


class PairNetwork(_LabelNetwork):
    """ESIM (Chen et al. 2017): two texts, each beside what it attends to in the other."""

    def __init__(
        self, tokens: TokenInput, n_labels: int, *, hidden_dim: int, dropout: float,
        class_weights: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__(class_weights)
        self.tokens = tokens
        self.dropout = nn.Dropout(dropout)
        self.encode = BiLstm(tokens.dim, hidden_dim)
        encoded = 2 * hidden_dim + tokens.output_dim
        self.project = nn.Linear(4 * encoded, hidden_dim)
        self.compose = BiLstm(hidden_dim, hidden_dim)
        self.hide = nn.Linear(8 * hidden_dim, hidden_dim)
        self.classify = nn.Linear(hidden_dim, n_labels)

    def forward(self, batch: Batch) -> Tensor:
        """Return the scores of the labels, (B, K)."""
        first, second = batch.sides
        a, b = self._encode(first), self._encode(second)
        similarity = a @ b.transpose(1, 2)
        a_attends = masked_softmax(similarity, second.mask[:, None]) @ b
        b_attends = masked_softmax(similarity.transpose(1, 2), first.mask[:, None]) @ a
        pooled = torch.cat(
            [self._compose(a, a_attends, first.mask), self._compose(b, b_attends, second.mask)],
            dim=1,
        )
        scores: Tensor = self.classify(self.dropout(torch.tanh(self.hide(self.dropout(pooled)))))
        return scores

    def _encode(self, side: TokenBatch) -> Tensor:
        vectors, at_output = self.tokens(side)
        return beside(self.encode(self.dropout(vectors), side.mask), at_output)

    def _compose(self, own: Tensor, attended: Tensor, mask: Tensor) -> Tensor:
        """Return the mean and the maximum of a text, (B, 4H)."""
        together = torch.cat([own, attended, own - attended, own * attended], dim=2)
        read = self.compose(self.dropout(F.relu(self.project(together))), mask)
        maximum = read.masked_fill(~mask[:, :, None], -1e4).amax(1)
        return torch.cat([_mean(read, mask), maximum], dim=1)


class TagNetwork(nn.Module):
    """A biLSTM-CRF (Ma and Hovy 2016; Peters et al. 2018).

    For semantic roles it also reads which word is the predicate (He et al. 2017).
    """

    def __init__(
        self,
        tokens: TokenInput,
        crf: Crf,
        *,
        hidden_dim: int,
        dropout: float,
        marks: bool,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.dropout = nn.Dropout(dropout)
        self.mark = nn.Embedding(2, _MARK_DIM) if marks else None
        dim = tokens.dim + _MARK_DIM * marks
        self.encode = BiLstm(dim, hidden_dim, n_layers=2, dropout=dropout)
        self.emit = nn.Linear(2 * hidden_dim + tokens.output_dim, len(crf.start))
        self.crf = crf

    def forward(self, batch: Batch) -> Tensor:
        """Return the score of each tag of each word, (B, T, K)."""
        (side,) = batch.sides
        vectors, at_output = self.tokens(side)
        if self.mark is not None:
            asked = torch.tensor([reading.predicate for reading in batch.readings])
            marks = (torch.arange(side.mask.shape[1]) == asked[:, None]).long()
            vectors = torch.cat([vectors, self.mark(marks)], dim=2)
        read = self.encode(self.dropout(vectors), side.mask)
        scores: Tensor = self.emit(self.dropout(beside(read, at_output)))
        return scores

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean negative log-likelihood of a sentence's tags."""
        assert batch.targets is not None
        log_likelihood: Tensor = self.crf(self(batch), batch.targets, batch.sides[0].mask)
        return -log_likelihood.mean()


def class_weights(mode: ClassWeight, labels: Sequence[Any], given: Sequence[Any]) -> Tensor | None:
    """Return the weight of each label in the loss, (K,), by how often it is among `given`."""
    if mode == "none":
        return None
    counts = torch.tensor([given.count(label) for label in labels])
    return len(given) / (len(counts) * counts)
