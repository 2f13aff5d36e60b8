"""Scores and loss of coreference equal a brute force: all spans, one pair at a time."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.tasks import coref_network
from elmore.tasks.coref_network import CorefNetwork, keep_spans
from elmore.tasks.documents import DocumentReading
from elmore.tasks.input_networks import TokenBatch, TokenInput, VectorNetwork
from elmore.tasks.task import Batch, as_tensor

DIM = 5


def network(seed: int = 1, **options: Any) -> CorefNetwork:
    torch.manual_seed(seed)
    made = CorefNetwork(
        TokenInput({"vectors": VectorNetwork(DIM)}),
        **{
            "hidden_dim": 4, "scorer_dim": 6, "dropout": 0.0, "max_width": 3,
            "spans_per_token": 3.0, "max_antecedents": 99, "genres": ["bn", "nw"],
            "speakers": True, "singletons": True, **options,
        },
    )  # fmt: skip
    return made.double()


def reading(lengths: Sequence[int], speakers: Sequence[str | None] = (), genre: str | None = None):
    text = tuple(tuple(f"w{k}" for k in range(n)) for n in lengths)
    return DocumentReading((text,), None, (), tuple(speakers), genre)


def batch(readings: list[DocumentReading], targets: list[Any] | None = None) -> Batch:
    generator = torch.Generator().manual_seed(7)
    n_tokens = torch.tensor([len(one.tokens) for one in readings])
    mask = torch.arange(int(n_tokens.max())) < n_tokens[:, None]
    vectors = torch.randn(*mask.shape, DIM, generator=generator, dtype=torch.double)
    lengths = torch.tensor([len(sentence) for one in readings for sentence in one.texts[0]])
    side = TokenBatch(mask, lengths, (vectors * mask[:, :, None],))
    return Batch((side,), readings, None if targets is None else as_tensor(targets))


class Brute:
    """The equations of the paper, for one document."""

    def __init__(self, net: CorefNetwork, inputs: Tensor, one: DocumentReading) -> None:
        self.net, self.one = net, one
        self.x = inputs
        encoded, self.sentence = [], []
        for sentence in one.texts[0]:
            begin, n = len(self.sentence), len(sentence)
            own = inputs[None, begin : begin + n]
            encoded.append(net.encode(own, torch.ones(1, n, dtype=torch.bool))[0])
            self.sentence += [len(encoded) - 1] * n
        self.encoded = torch.cat(encoded)
        spans = [
            (a, b)
            for a in range(len(inputs))
            for b in range(a, min(len(inputs), a + net.max_width))
            if self.sentence[a] == self.sentence[b]
        ]
        self.s_m = {span: self.ffnn(net.mention, self.g(span)) for span in spans}
        self.kept: list[tuple[int, int]] = []
        for span in sorted(spans, key=lambda span: -self.s_m[span].item()):
            (a, b), n_kept = span, math.ceil(net.spans_per_token * len(inputs))
            crossing = any(c < a <= d < b or a < c <= b < d for c, d in self.kept)
            if not crossing and len(self.kept) < n_kept:
                self.kept.append(span)
        self.kept.sort()

    def g(self, span: tuple[int, int]) -> Tensor:
        first, last = span
        weights = self.net.attend(self.encoded[first : last + 1])[:, 0].exp()
        head = (weights[:, None] * self.x[first : last + 1]).sum(0) / weights.sum()
        width = self.net.width.weight[last - first]
        return torch.cat([self.encoded[first], self.encoded[last], head, width])

    def ffnn(self, scorer: Any, given: Tensor) -> Tensor:
        return scorer.score(F.relu(scorer.second(F.relu(scorer.first(given)))))[0]

    def antecedent(self, i: int, j: int) -> Tensor:
        a, b = self.kept[i], self.kept[j]
        bounds = [1, 2, 3, 4, 5, 8, 16, 32, 64]
        bucket = max(k for k, least in enumerate(bounds) if least <= i - j)
        parts = [self.g(a), self.g(b), self.g(a) * self.g(b), self.net.distance.weight[bucket]]
        if self.net.speaker is not None:
            said = [
                self.one.speakers[self.sentence[k[0]]] if self.one.speakers else None
                for k in (a, b)
            ]
            known = None not in said
            parts.append(self.net.speaker.weight[(1 if said[0] == said[1] else 2) if known else 0])
        if self.net.genre is not None:
            parts.append(
                self.net.genre.weight[
                    ["bn", "nw"].index(self.one.genre) + 1 if self.one.genre in ("bn", "nw") else 0
                ]
            )
        return self.s_m[a] + self.s_m[b] + self.ffnn(self.net.antecedent, torch.cat(parts))

    def loss(self, gold: dict[tuple[int, int], int]) -> Tensor:
        total = torch.zeros((), dtype=torch.double)
        for i, span in enumerate(self.kept):
            near = range(max(0, i - self.net.max_antecedents), i)
            scores = {j: self.antecedent(i, j) for j in near}
            right = [j for j in near if gold.get(span) and gold.get(span) == gold.get(self.kept[j])]
            everything = 1 + sum(score.exp() for score in scores.values())
            wanted = sum(scores[j].exp() for j in right) if right else torch.ones(())
            total = total - torch.log(wanted / everything)
        if self.net.singletons:
            for span, score in self.s_m.items():
                chance = torch.sigmoid(score)
                total = total - torch.log(chance if span in gold else 1 - chance)
        return total / len(self.kept)


DOCUMENTS = [
    reading([4, 2, 5], ["Kim", None, "Lee"], "nw"),
    reading([3, 1, 1, 3], ["Kim", "Lee", "Kim", "Kim"], "xx"),
    reading([6]),
    reading([1]),
]
GOLDS: list[dict[tuple[int, int], int]] = [
    {(0, 0): 1, (4, 5): 1, (6, 8): 1, (1, 2): 2, (9, 9): 2, (10, 10): 3},
    {(0, 2): 1, (3, 3): 1, (5, 6): 2},
    {},
    {(0, 0): 1},
]


def targets() -> list[Tensor]:
    rows = [[[*span, number] for span, number in gold.items()] for gold in GOLDS]
    return [torch.tensor(one, dtype=torch.long).view(-1, 3) for one in rows]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_antecedents": 2},
        {"spans_per_token": 0.5},
        {"max_width": 1, "singletons": False},
        {"speakers": False, "genres": []},
    ],
)
@pytest.mark.parametrize("n_kept", [0, 9999])  # pairs that are not computed again
def test_scores_and_loss_by_brute_force(
    options: dict[str, Any], n_kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coref_network, "_PAIRS_KEPT", n_kept)
    net, given = network(**options), batch(DOCUMENTS, targets())
    for name in ("_TOKENS_AT_ONCE", "_STARTS_AT_ONCE", "_PAIRS_AT_ONCE"):
        monkeypatch.setattr(coref_network, name, 7)
    found = net(given)
    losses = []
    for row, (one, scores) in enumerate(zip(DOCUMENTS, found, strict=True)):
        brute = Brute(net, given.sides[0].values[0][row, : len(one.tokens)], one)
        assert scores.spans == brute.kept
        for i in range(len(brute.kept)):
            torch.testing.assert_close(scores.mentions[i], brute.s_m[brute.kept[i]])
            wanted = [0.0] + [
                brute.antecedent(i, i - k).item() if i - k >= 0 else -math.inf
                for k in range(1, scores.antecedents.shape[1])
            ]
            torch.testing.assert_close(
                scores.antecedents[i], torch.tensor(wanted).double(), atol=1e-6, rtol=1e-6
            )
        assert scores.antecedents.shape[1] - 1 == min(net.max_antecedents, len(brute.kept) - 1)
        losses.append(brute.loss(GOLDS[row]))
    mean = torch.stack(losses).mean()
    loss = net.loss(given)
    torch.testing.assert_close(loss, mean)
    parameters = dict(net.named_parameters())
    wanted_grads = torch.autograd.grad(mean, list(parameters.values()), allow_unused=True)
    grads = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    for name, grad, wanted_grad in zip(parameters, grads, wanted_grads, strict=True):
        zeros = torch.zeros_like(parameters[name])
        torch.testing.assert_close(
            zeros if grad is None else grad, zeros if wanted_grad is None else wanted_grad, msg=name
        )


def test_spans_that_cross_a_better_one_are_not_kept() -> None:
    spans = [(0, 1), (0, 3), (1, 2), (2, 3), (2, 2)]
    scores = torch.tensor([5.0, 1.0, 4.0, 3.0, 2.0])
    assert keep_spans(spans, scores, 9) == [0, 1, 3, 4]  # (1, 2) crosses (0, 1); the rest nest
    assert keep_spans(spans, scores, 2) == [0, 3]
    assert keep_spans(spans, -scores, 9) == [0, 1, 3, 4]  # now (1, 2) crosses (2, 3)
    assert keep_spans(spans, torch.tensor([1.0, 2.0, 9.0, 1.0, 1.0]), 9) == [1, 2, 4]


def test_a_document_is_scored_the_same_alone() -> None:
    net, given = network().eval(), batch(DOCUMENTS)
    together = net(given)
    for row, one in enumerate(DOCUMENTS):
        values = given.sides[0].values[0][row : row + 1, : len(one.tokens)]
        mask = torch.ones(values.shape[:2], dtype=torch.bool)
        lengths = torch.tensor([len(sentence) for sentence in one.texts[0]])
        (alone,) = net(Batch((TokenBatch(mask, lengths, (values,)),), [one], None))
        assert alone.spans == together[row].spans
        torch.testing.assert_close(alone.antecedents, together[row].antecedents)
