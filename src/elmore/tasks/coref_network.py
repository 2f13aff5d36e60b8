"""The network of `Coreferencer`: end-to-end coreference resolution, Lee et al. 2017.

A biLSTM reads each sentence. A span of at most `max_width` tokens of a sentence is represented by
g = [x* of its first token; x* of its last; its attended head; an embedding of its width], where x*
is what the biLSTM gives and the head is a mean of its input, weighted by attention. All spans get a
mention score s_m, and the best are kept: `spans_per_token` of them for each token, none of which
crosses another. Each kept span i then chooses its antecedent among the `max_antecedents` nearest
kept spans j before it, by s_m(i) + s_m(j) + s_a(i, j), or none, whose score is 0.

The loss is the marginal log-likelihood of all right antecedents. Where the training set marks
mentions that corefer with nothing (`singletons`), mention scores are learned too, by binary
cross-entropy, and a kept span with a score above 0 is a mention.

Memory: the first layer of the mention scores is computed for tokens, then summed for spans, which
is the same; pairs are scored in blocks, which are computed again in the backward pass if they are
many. So neither grows with the spans times their dimensions.

Shapes: N tokens of a document, W max_width, M kept spans, K antecedents, G dimensions of a span,
F scorer_dim.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from elmore.tasks.input_networks import TokenInput
from elmore.tasks.networks import BiLstm, beside, masked_softmax
from elmore.tasks.task import Batch

_FEATURE_DIM = 20
_DISTANCES = (1, 2, 3, 4, 5, 8, 16, 32, 64)  # the least of each bucket
_TOKENS_AT_ONCE = 2048  # in a group of sentences, with padding
_STARTS_AT_ONCE = 1024
_PAIRS_AT_ONCE = 4096
_PAIRS_KEPT = 4 * _PAIRS_AT_ONCE  # for the backward pass


class DocumentScores(NamedTuple):
    """The scores of the kept spans of a document, in the order of their first and last tokens."""

    spans: list[tuple[int, int]]
    """The first and the last token of each, (M)."""
    mentions: Tensor
    """s_m, (M,)."""
    antecedents: Tensor
    """(M, 1 + K): that there is none, then the nearest, the second nearest, …; -inf if there are
    not so many."""
    all_mentions: Tensor
    """s_m of all spans by their first token and width - 1, (N, W)."""
    is_span: Tensor
    """Whether there is such a span, (N, W)."""


class _Scorer(nn.Module):
    """Two hidden layers and a score; the first is computed by who uses it."""

    def __init__(self, dim: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Linear(dim, hidden_dim)
        self.second = nn.Linear(hidden_dim, hidden_dim)
        self.score = nn.Linear(hidden_dim, 1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, first: Tensor) -> Tensor:
        """Take what the first layer gives, (..., F); return (...)."""
        second = self.second(self.dropout(F.relu(first)))
        scores: Tensor = self.score(self.dropout(F.relu(second)))[..., 0]
        return scores


class CorefNetwork(nn.Module):
    """Scores the spans of documents as mentions, and pairs of them as coreferent."""

    def __init__(
        self,
        tokens: TokenInput,
        *,
        hidden_dim: int,
        scorer_dim: int,
        dropout: float,
        max_width: int,
        spans_per_token: float,
        max_antecedents: int,
        genres: Sequence[str],
        speakers: bool,
        singletons: bool,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.max_width, self.max_antecedents = max_width, max_antecedents
        self.spans_per_token, self.singletons = spans_per_token, singletons
        self.genres = {genre: row for row, genre in enumerate(genres, start=1)}
        self.dropout = nn.Dropout(dropout)
        self.encode = BiLstm(tokens.dim, hidden_dim)
        encoded_dim = 2 * hidden_dim + tokens.output_dim
        self.span_dims = (encoded_dim, encoded_dim, tokens.dim, _FEATURE_DIM)
        span_dim = sum(self.span_dims)
        self.attend = nn.Linear(encoded_dim, 1)
        self.width = nn.Embedding(max_width, _FEATURE_DIM)
        self.mention = _Scorer(span_dim, scorer_dim, dropout)
        self.distance = nn.Embedding(len(_DISTANCES), _FEATURE_DIM)
        # What there is no training example of is left out.
        self.speaker = nn.Embedding(3, _FEATURE_DIM) if speakers else None  # unknown, same, other
        self.genre = nn.Embedding(len(genres) + 1, _FEATURE_DIM) if genres else None  # 0: unknown
        n_features = 1 + speakers + bool(genres)
        self.antecedent = _Scorer(3 * span_dim + n_features * _FEATURE_DIM, scorer_dim, dropout)

    def forward(self, batch: Batch) -> list[DocumentScores]:
        """Return the scores of each document."""
        (side,) = batch.sides
        inputs, at_output = self.tokens(side)
        found = []
        for row, reading in enumerate(batch.readings):
            lengths = [len(sentence) for sentence in reading.texts[0]] or [1]
            n_tokens = sum(lengths)
            own = self.dropout(inputs[row, :n_tokens])
            read = self._encode(own, lengths)
            extra = None if at_output is None else at_output[row : row + 1, :n_tokens]
            found.append(
                self._score(own, self.dropout(beside(read[None], extra))[0], lengths, reading)
            )
        return found

    def _encode(self, inputs: Tensor, lengths: list[int]) -> Tensor:
        """Read each sentence by itself, those of similar length together; return (N, 2H)."""
        ends = torch.tensor(lengths).cumsum(0)
        starts = ends - torch.tensor(lengths)
        pieces, places = [], []
        for group in _groups(lengths):
            longest = torch.arange(max(lengths[k] for k in group))
            tokens = starts[group, None] + longest
            mask = tokens < ends[group, None]
            # Where a sentence is shorter, the next one's tokens are read, and not used.
            read = self.encode(inputs[tokens.clamp(max=len(inputs) - 1)], mask)
            pieces.append(read[mask])
            places.append(tokens[mask])
        return torch.cat(pieces)[torch.cat(places).argsort()]

    def _score(
        self, inputs: Tensor, encoded: Tensor, lengths: list[int], reading: Any
    ) -> DocumentScores:
        n_tokens, sentences = len(inputs), torch.tensor(lengths)
        sentence_of = torch.arange(len(lengths)).repeat_interleave(sentences)
        ends = sentences.cumsum(0)[sentence_of]  # of each token's sentence
        lasts = torch.arange(n_tokens)[:, None] + torch.arange(min(self.max_width, max(lengths)))
        is_span = lasts < ends[:, None]  # (N, W)
        lasts = lasts.clamp(max=n_tokens - 1)
        attention = self.attend(encoded)[:, 0]
        mentions = self._mention_scores(inputs, encoded, attention, lasts)

        candidates = is_span.nonzero()  # (C, 2): first token, width - 1
        n_kept = math.ceil(self.spans_per_token * n_tokens)
        spans = [(first, first + more) for first, more in candidates.tolist()]
        kept = candidates[keep_spans(spans, mentions.detach()[is_span], n_kept)]
        first, more = kept.unbind(1)
        window = lasts[first]  # (M, W)
        in_span = torch.arange(window.shape[1]) <= more[:, None]
        weights = masked_softmax(attention[window], in_span)
        head = (weights[:, None] @ inputs[window])[:, 0]
        g = torch.cat([encoded[first], encoded[first + more], head, self.width(more)], dim=1)

        own_mentions = mentions[first, more]
        antecedents = self._antecedent_scores(g, own_mentions, sentence_of[first], reading)
        chosen = list(zip(first.tolist(), (first + more).tolist(), strict=True))
        return DocumentScores(chosen, own_mentions, antecedents, mentions, is_span)

    def _mention_scores(
        self, inputs: Tensor, encoded: Tensor, attention: Tensor, lasts: Tensor
    ) -> Tensor:
        """Return s_m of all spans, (N, W); `lasts` are their last tokens."""
        layer, n_widths = self.mention.first, lasts.shape[1]
        by_first, by_last, by_head, by_width = layer.weight.split_with_sizes(self.span_dims, dim=1)
        first, last = F.linear(encoded, by_first, layer.bias), F.linear(encoded, by_last)
        head, width = F.linear(inputs, by_head), F.linear(self.width.weight[:n_widths], by_width)
        in_span = torch.ones(n_widths, n_widths, dtype=torch.bool).tril()
        found = []
        for begin in range(0, len(inputs), _STARTS_AT_ONCE):
            window = lasts[begin : begin + _STARTS_AT_ONCE]
            weights = masked_softmax(attention[window][:, None], in_span)  # (…, W, W)
            own = first[begin : begin + _STARTS_AT_ONCE, None] + last[window] + width
            found.append(self.mention(own + weights @ head[window]))
        return torch.cat(found)

    def _antecedent_scores(
        self, g: Tensor, mentions: Tensor, sentences: Tensor, reading: Any
    ) -> Tensor:
        """Return the scores of each span's antecedents, (M, 1 + K)."""
        n_spans, span_dim = g.shape
        n_most = min(self.max_antecedents, n_spans - 1)
        layer = self.antecedent.first
        n_features = (layer.in_features - 3 * span_dim) // _FEATURE_DIM
        by_own, by_other, by_product, *by_features = layer.weight.split_with_sizes(
            [span_dim] * 3 + [_FEATURE_DIM] * n_features, dim=1
        )
        features = iter(by_features)
        own, other = F.linear(g, by_own, layer.bias), F.linear(g, by_other)
        by_distance = F.linear(self.distance.weight, next(features))
        by_speaker = None
        if self.speaker is not None:
            by_speaker = F.linear(self.speaker.weight, next(features))
        if self.genre is not None:
            genre = self.genre.weight[self.genres.get(reading.genre, 0)]
            own = own + F.linear(genre, next(features))
        speakers = _numbers(reading.speakers, len(reading.texts[0]))[sentences]
        least = torch.tensor(_DISTANCES)

        def block(begin: int, end: int, n: int) -> Tensor:
            offsets = torch.arange(1, n + 1)
            before = torch.arange(begin, end)[:, None] - offsets
            there = before >= 0
            before = before.clamp(min=0)
            bucket = torch.searchsorted(least, offsets, right=True) - 1
            product = g[begin:end, None] * F.embedding(before, g)
            first = F.linear(product, by_product) + own[begin:end, None]
            first = first + F.embedding(before, other) + by_distance[bucket]
            if by_speaker is not None:
                a, b = speakers[begin:end, None], speakers[before]
                same = torch.where(a == b, 1, 2).masked_fill((a == 0) | (b == 0), 0)
                first = first + F.embedding(same, by_speaker)
            scores = self.antecedent(first) + mentions[begin:end, None] + mentions[before]
            return F.pad(scores.masked_fill(~there, -torch.inf), (0, n_most - n), value=-torch.inf)

        none = 0 * mentions[:, None]
        if not n_most:
            return none
        n_rows = max(1, _PAIRS_AT_ONCE // n_most)
        again = partial(checkpoint, block, use_reentrant=False)
        score: Callable[..., Tensor] = block if n_spans * n_most <= _PAIRS_KEPT else again
        blocks: list[Tensor] = []
        for begin in range(0, n_spans, n_rows):
            end = min(n_spans, begin + n_rows)
            blocks.append(score(begin, end, min(n_most, max(1, end - 1))))  # the first have few
        return torch.cat([none, torch.cat(blocks)], dim=1)

    def loss(self, batch: Batch) -> Tensor:
        """Return the mean loss of the documents, each a mean over its kept spans."""
        assert batch.targets is not None
        found = []
        for scores, target in zip(self(batch), batch.targets, strict=True):
            first, last, cluster = target[target[:, 2] > 0].unbind(1)  # others are padding
            learnable = last - first < scores.is_span.shape[1]
            gold = torch.zeros(scores.is_span.shape, dtype=torch.long)
            gold[first[learnable], (last - first)[learnable]] = cluster[learnable]
            loss = _marginal_loss(scores, gold)
            if self.singletons:
                is_mention = (gold > 0).float()[scores.is_span]
                given = scores.all_mentions[scores.is_span]
                total = F.binary_cross_entropy_with_logits(given, is_mention, reduction="sum")
                loss = loss + total / len(scores.spans)
            found.append(loss)
        return torch.stack(found).mean()


def _groups(lengths: list[int]) -> Iterator[list[int]]:
    """Give the sentences of each group, in which few are padded by much."""
    order = sorted(range(len(lengths)), key=lambda k: -lengths[k])
    while order:
        n = max(1, _TOKENS_AT_ONCE // lengths[order[0]])
        yield order[:n]
        order = order[n:]


def _numbers(speakers: Sequence[str | None], n_sentences: int) -> Tensor:
    """Return the number of each sentence's speaker, 0 if none is known."""
    if not speakers:
        return torch.zeros(max(1, n_sentences), dtype=torch.long)
    numbers: dict[str, int] = {}
    return torch.tensor([
        0 if name is None else numbers.setdefault(name, len(numbers) + 1) for name in speakers
    ])  # fmt: skip


def keep_spans(spans: Sequence[tuple[int, int]], scores: Tensor, n_kept: int) -> list[int]:
    """Return which spans are kept, in order: the best, at most so many, none crossing another."""
    starts_of: dict[int, int] = {}  # by its last token, the first of the longest kept span
    ends_of: dict[int, int] = {}  # by its first token, the last of the longest kept span
    kept: list[int] = []
    for row in scores.argsort(descending=True, stable=True).tolist():
        if len(kept) == n_kept:
            break
        first, last = spans[row]
        crosses = any(
            (place > first and ends_of.get(place, last) > last)
            or (place < last and starts_of.get(place, first) < first)
            for place in range(first, last + 1)
        )
        if not crosses:
            kept.append(row)
            starts_of[last] = min(first, starts_of.get(last, first))
            ends_of[first] = max(last, ends_of.get(first, last))
    return sorted(kept)


def _marginal_loss(scores: DocumentScores, gold: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of the right antecedents; `gold` numbers clusters."""
    first, last = torch.tensor(scores.spans).unbind(1)
    cluster = gold[first, last - first]
    n_most = scores.antecedents.shape[1] - 1
    before = torch.arange(len(cluster))[:, None] - torch.arange(1, n_most + 1)
    same = (cluster[before.clamp(min=0)] == cluster[:, None]) & (cluster[:, None] > 0)
    same &= before >= 0
    right = torch.cat([~same.any(1, keepdim=True), same], dim=1)
    likely = scores.antecedents.masked_fill(~right, -torch.inf).logsumexp(1)
    return (scores.antecedents.logsumexp(1) - likely).mean()
