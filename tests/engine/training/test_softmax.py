"""Losses and gradients of the softmax are autograd's."""

import numpy as np
import pytest
import torch
from torch import Tensor

from elmore.engine.parallel import n_threads, set_n_threads
from elmore.engine.training import softmax
from elmore.engine.training.softmax import SoftmaxTraining

N, V, P = 150, 70, 9
SCALE = 0.3


def random(*shape: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def made() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weights, biases, states and targets."""
    targets = np.random.default_rng(1).integers(0, V, N).astype(np.int32)
    return random(V, P, seed=2), random(V, seed=3), random(N, P, seed=4), targets


def sampled(n: int) -> tuple[np.ndarray, np.ndarray]:
    samples = np.random.default_rng(5).permutation(V)[:n].astype(np.int32)
    return samples, random(V, seed=6)


def textbook(
    weight: Tensor, bias: Tensor, states: Tensor, targets: np.ndarray, n_samples: int | None
) -> Tensor:
    """The losses (N,), one token after the other."""
    losses = []
    for state, target in zip(states, targets.tolist(), strict=True):
        if n_samples is None:
            losses.append(
                torch.logsumexp(weight @ state + bias, 0) - weight[target] @ state - bias[target]
            )
            continue
        samples, log_expected = sampled(n_samples)
        scored = torch.tensor([target, *samples[samples != target].tolist()])
        logits = weight[scored] @ state + bias[scored] - torch.from_numpy(log_expected)[scored]
        losses.append(torch.logsumexp(logits, 0) - logits[0])
    return torch.stack(losses)


def run(n_samples: int | None, *, bfloat16: bool = False) -> list[np.ndarray]:
    """Losses and gradients: of states, weights and biases."""
    weight, bias, states, targets = made()
    options = {}
    if n_samples is not None:
        samples, log_expected = sampled(n_samples)
        options = {"samples": samples, "log_expected": log_expected.take, "targets": targets}
    loss = SoftmaxTraining(weight, bias, bfloat16=bfloat16, **options)
    losses, dstates = loss(states, targets, SCALE)
    dweight, dbias = np.zeros_like(weight), np.zeros_like(bias)
    rows = slice(None) if loss.rows is None else loss.rows
    dweight[rows], dbias[rows] = loss.dweight, loss.dbias
    return [losses, dstates, dweight, dbias]


@pytest.mark.parametrize("n_samples", [None, 1, 20, V])
@pytest.mark.parametrize("chunk", [40, 10_000])
def test_equal_to_autograd(
    n_samples: int | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(softmax, "_MAX_LOGITS", 1)
    monkeypatch.setattr(softmax, "_MIN_TOKENS", chunk)
    weight, bias, states, targets = made()
    leaves = [torch.from_numpy(x).requires_grad_() for x in (states, weight, bias)]
    losses = textbook(leaves[1], leaves[2], leaves[0], targets, n_samples)
    (SCALE * losses.sum()).backward()
    found = run(n_samples)
    for ours, theirs in zip(found, [losses.detach(), *(x.grad for x in leaves)], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("bfloat16", [False, True])
@pytest.mark.parametrize("n_samples", [None, 20])
def test_any_number_of_threads_gives_the_same_bits(n_samples: int | None, bfloat16: bool) -> None:
    before = n_threads()
    found = []
    try:
        for n in (1, 2, 5):
            set_n_threads(n)
            found.append(run(n_samples, bfloat16=bfloat16))
    finally:
        set_n_threads(before)
    for other in found[1:]:
        for expected, array in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(array, expected)


def test_losses_of_large_logits_are_finite() -> None:
    weight, bias, states, targets = made()
    loss = SoftmaxTraining(1000 * weight, bias)
    losses, dstates = loss(states, targets, SCALE)
    assert np.isfinite(losses).all()
    assert np.isfinite(dstates).all()
    assert losses.max() > 1000


def test_updates_share_buffers() -> None:
    weight, bias, states, targets = made()
    first = SoftmaxTraining(weight, bias)
    first(states, targets, SCALE)
    second = SoftmaxTraining(2 * weight, bias, before=first)
    assert second.dlogits is first.dlogits
    alone = SoftmaxTraining(2 * weight, bias)
    for ours, theirs in zip(
        second(states, targets, SCALE), alone(states, targets, SCALE), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
