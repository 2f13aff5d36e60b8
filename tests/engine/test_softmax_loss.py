"""The softmax in training: its loss and gradients are autograd's, and samples stand for all."""

from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.engine import softmax_loss
from elmore.engine.matmul import products
from elmore.engine.negative_sampling import LogUniformSampler, Samples
from elmore.engine.softmax_loss import Candidates, SoftmaxLoss
from elmore.model.softmax import Softmax
from tests.oracle.training import Sampled, _sampled_cross_entropy

V, P, N = 40, 6, 30
SCALE = 0.5


@dataclass(frozen=True)
class Found:
    """Losses (N,), and gradients of the states (N, p), the weights (V, p) and the biases (V,)."""

    losses: Tensor
    states: Tensor
    weight: Tensor
    bias: Tensor

    def same(self, other: "Found", tolerance: float = 1e-6) -> None:
        for name, value in vars(self).items():
            torch.testing.assert_close(
                value, getattr(other, name), atol=tolerance, rtol=tolerance,
                msg=lambda m, n=name: f"{n}: {m}",
            )  # fmt: skip


def network(scale: float = 1.0) -> tuple[Softmax, Tensor, Tensor]:
    """Return a softmax, states and the words that follow them: frequent ones, mostly."""
    torch.manual_seed(5)
    softmax = Softmax(V, P)
    softmax.bias.data.normal_()
    words = LogUniformSampler(V, 1)
    source = torch.Generator().manual_seed(6)
    targets = torch.cat([words.draw(source).words for _ in range(N)])
    return softmax, scale * torch.randn(N, P), targets


def predict(softmax: Softmax, states: Tensor, targets: Tensor, samples: Samples | None) -> Found:
    with torch.no_grad():
        candidates = (
            Candidates.all_words(softmax)
            if samples is None
            else Candidates.of(softmax, samples, targets)
        )
        predicted = SoftmaxLoss(candidates, products("float32"))
        losses, dstates = predicted(states, candidates.places_of(targets, V), SCALE)
        rows = slice(None) if candidates.rows is None else candidates.rows
        weight, bias = torch.zeros(V, P), torch.zeros(V)
        weight[rows], bias[rows] = predicted.gradients.weight, predicted.gradients.bias
        return Found(losses, dstates, weight, bias)


def by_autograd(
    softmax: Softmax, states: Tensor, targets: Tensor, samples: Samples | None
) -> Found:
    states = states.clone().requires_grad_()

    def loss(some: Tensor, words: Tensor) -> Tensor:
        if samples is None:
            return F.cross_entropy(F.linear(some, softmax.weight, softmax.bias), words)
        return _sampled_cross_entropy(
            softmax, some, words, Sampled(samples.words, samples.log_expected)
        )

    losses = torch.stack([loss(states[k : k + 1], targets[k : k + 1]) for k in range(N)])
    gradients = torch.autograd.grad(
        SCALE * losses.sum(), (states, softmax.weight, softmax.bias)
    )  # fmt: skip
    return Found(losses.detach(), *gradients)


def draw(n_samples: int, seed: int) -> Samples:
    return LogUniformSampler(V, n_samples).draw(torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("n_samples", [0, 1, 12, V - 1, V])
@pytest.mark.parametrize("max_logits", [1, 100, 2**20])
def test_equal_to_autograd_however_it_is_cut(
    n_samples: int, max_logits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softmax_loss, "MAX_LOGITS", max_logits)
    samples = draw(n_samples, 1) if n_samples else None
    predict(*network(), samples).same(by_autograd(*network(), samples), 3e-6)


def test_all_words_sampled_are_the_full_softmax() -> None:
    predict(*network(), draw(V, 1)).same(predict(*network(), None))


def cosine(a: Tensor, b: Tensor) -> float:
    return F.cosine_similarity(a.flatten(), b.flatten(), dim=0).item()


def test_the_mean_of_many_samples_is_the_full_softmax() -> None:
    softmax, states, _ = network()
    softmax.bias.data.zero_()
    targets = torch.arange(N)  # the rare ones too
    full = predict(softmax, states, targets, None)

    def mean(*, corrected: bool) -> tuple[Tensor, Tensor]:
        total = torch.zeros(N, P), torch.zeros(V, P)
        for seed in range(500):
            samples = draw(20, seed)
            if not corrected:
                samples = Samples(samples.words, torch.zeros(V))
            found = predict(softmax, states, targets, samples)
            total[0].add_(found.states, alpha=1 / 500)
            total[1].add_(found.weight, alpha=1 / 500)
        return total

    for expected, good, bad in zip(
        (full.states, full.weight), mean(corrected=True), mean(corrected=False), strict=True
    ):
        assert cosine(good, expected) > 0.99
        assert 1 - cosine(bad, expected) > 3 * (1 - cosine(good, expected))


def test_a_sample_that_is_the_word_looked_for_counts_once() -> None:
    softmax, states, _ = network()
    samples = Samples(torch.tensor([7, 3, 20]), torch.randn(V))
    targets = torch.full((N,), 3)
    found = predict(softmax, states, targets, samples)
    logits = F.linear(states, softmax.weight, softmax.bias) - samples.log_expected
    expected = F.cross_entropy(logits[:, [7, 3, 20]], torch.ones(N).long(), reduction="none")
    torch.testing.assert_close(found.losses, expected.detach())
    assert set(found.bias.nonzero()[:, 0].tolist()) == {7, 3, 20}
    torch.testing.assert_close(found.bias.sum(), torch.tensor(0.0), atol=1e-6, rtol=0)


@pytest.mark.parametrize("n_samples", [0, 12])
def test_huge_scores_have_a_loss(n_samples: int) -> None:
    softmax, states, targets = network(scale=1e4)
    samples = draw(n_samples, 1) if n_samples else None
    found = predict(softmax, states, targets, samples)
    found.same(by_autograd(softmax, states, targets, samples), 1e-5)
    assert found.losses.max() > 1000  # where exp has no number
    for value in vars(found).values():
        assert value.isfinite().all()


@pytest.mark.parametrize("n_samples", [0, 12])
def test_a_word_that_cannot_follow_has_no_gradient(n_samples: int) -> None:
    softmax, states, targets = network()
    samples = draw(n_samples, 1) if n_samples else None
    impossible = next(
        word
        for word in (range(V) if samples is None else samples.words.tolist())
        if word not in targets.tolist()
    )
    softmax.bias.data[impossible] = -torch.inf
    found = predict(softmax, states, targets, samples)
    for value in vars(found).values():
        assert value.isfinite().all()
    assert not found.weight[impossible].any()
    assert not found.bias[impossible]
