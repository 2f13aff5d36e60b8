"""The textbook training step against the network itself, arithmetic by hand, and differences."""

import math
import random

import pytest
import torch
from torch import Tensor

from elmore import BiLM
from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig

from .training import (
    Batch,
    Masks,
    Sampled,
    TextbookTrainer,
    draw_masks,
    draw_samples,
    log_uniform_expected_counts,
    textbook_loss,
    zero_state,
)

B, T, C, V, P = 3, 4, 8, 11, 6


def make_bilm(*, clip: float = 3.0, n_words: int = V, seed: int = 0) -> BiLM:
    torch.manual_seed(seed)
    characters = CharCnnConfig(4, ((1, 4), (2, 6)), 1, "relu", max_characters=C)
    lstm = LstmConfig(2, 12, P, cell_clip=clip, projection_clip=clip)
    return BiLM(BiLMConfig(TokenEncoderConfig(characters), lstm, n_words)).double()


def make_batch(seed: int, n_steps: int = T, n_words: int = V) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    return Batch(
        torch.randint(0, 20, (B, n_steps, C), generator=generator),
        torch.randint(0, n_words, (B, n_steps), generator=generator),
    )


def losses(
    bilm: BiLM, samples: Sampled | None = None, masks: tuple[Masks, Masks] | None = None
) -> tuple[Tensor, Tensor]:
    forward, backward, _ = textbook_loss(
        bilm, make_batch(1), make_batch(2), zero_state(bilm, B), samples=samples, masks=masks
    )
    return forward, backward


def some_samples() -> Sampled:
    return Sampled(torch.tensor([0, 5, 2, 7]), log_uniform_expected_counts(V, 6).log())


def two_masks(bilm: BiLM, rate: float = 0.5) -> tuple[Masks, Masks]:
    torch.manual_seed(3)
    return draw_masks(bilm, B, T, rate), draw_masks(bilm, B, T, rate)


# --- the loss -------------------------------------------------------------------------------------


def test_the_loss_is_that_of_the_network() -> None:
    bilm = make_bilm()
    assert bilm.softmax is not None
    text, targets = make_batch(1).char_ids, make_batch(1).targets
    # One text read from both ends: the backward stream has its tokens the other way round.
    forward, backward, state = textbook_loss(
        bilm,
        Batch(text, targets),
        Batch(text.flip(1), targets.flip(1)),
        zero_state(bilm, B),
        samples=None,
        masks=None,
    )
    output = bilm(text, mask=torch.ones(B, T, dtype=torch.bool))
    for loss, top in zip((forward, backward), output.layers[-1].split(P, dim=-1), strict=True):
        expected = -bilm.softmax(top.flatten(0, 1), targets.flatten()).mean()
        torch.testing.assert_close(loss, expected)
    for ours, theirs in (
        (state.forward, output.state.forward),
        (state.backward, output.state.backward),
    ):
        torch.testing.assert_close(ours.h, theirs.h)
        torch.testing.assert_close(ours.c, theirs.c)
        assert not ours.h.requires_grad
        assert not ours.c.requires_grad


def test_at_the_start_every_word_is_as_likely() -> None:
    bilm = make_bilm(n_words=1000)
    batch = make_batch(1, n_words=1000)
    forward, backward, _ = textbook_loss(
        bilm, batch, batch, zero_state(bilm, B), samples=None, masks=None
    )
    assert forward.item() == pytest.approx(math.log(1000), rel=0.05)
    assert backward.item() == pytest.approx(math.log(1000), rel=0.05)


def test_sampling_every_word_is_the_full_softmax() -> None:
    bilm = make_bilm()
    everything = Sampled(torch.randperm(V), torch.zeros(V))
    torch.testing.assert_close(losses(bilm, everything), losses(bilm))
    # A constant log Q changes nothing; one that differs from word to word does.
    shifted = Sampled(torch.randperm(V), torch.full((V,), -2.0))
    torch.testing.assert_close(losses(bilm, shifted), losses(bilm))
    corrected = Sampled(torch.randperm(V), torch.linspace(-3, 0, V))
    assert abs(losses(bilm, corrected)[0] - losses(bilm)[0]) > 0.01


def test_the_sampled_softmax_by_hand() -> None:
    bilm, samples = make_bilm(), some_samples()
    assert bilm.softmax is not None
    batch = make_batch(1)
    assert set(batch.targets.flatten().tolist()) & set(samples.ids.tolist()), "no accidental hit"
    output = bilm(batch.char_ids, mask=torch.ones(B, T, dtype=torch.bool))
    found = []
    for h, target in zip(
        output.layers[-1, ..., :P].flatten(0, 1), batch.targets.flatten().tolist(), strict=True
    ):
        others = [k for k in samples.ids.tolist() if k != target]
        logit = {
            k: (h @ bilm.softmax.weight[k] + bilm.softmax.bias[k] - samples.log_q[k]).item()
            for k in [target, *others]
        }
        found.append(math.log(sum(map(math.exp, logit.values()))) - logit[target])
    assert losses(bilm, samples)[0].item() == pytest.approx(sum(found) / len(found))


def test_masks_of_one_drop_nothing() -> None:
    bilm = make_bilm()
    torch.testing.assert_close(losses(bilm, masks=two_masks(bilm, rate=0.0)), losses(bilm))
    assert losses(bilm, masks=two_masks(bilm))[0] != losses(bilm)[0]


def test_the_residual_sees_the_dropped_input() -> None:
    bilm = make_bilm()
    one, zero = torch.ones(B, T, P), torch.zeros(B, T, P)
    masks = Masks([one, zero], one)
    forward, backward = losses(bilm, masks=(masks, Masks([one, one], one)))
    forward.backward()
    # Nothing of the first layer reaches the loss: not through the cells, nor around them.
    for weight in bilm.forward_lstm.layers[0].parameters():
        assert weight.grad is not None
        assert not weight.grad.any()
    assert bilm.forward_lstm.layers[1].bias.grad.any()
    backward.backward()
    assert bilm.backward_lstm.layers[0].input_weight.grad.any()


def test_an_output_of_zeros_leaves_only_the_bias() -> None:
    bilm = make_bilm()
    ones, zero = [torch.ones(B, T, P)] * 2, torch.zeros(B, T, P)
    forward, _ = losses(bilm, masks=(Masks(ones, zero), Masks(ones, zero)))
    assert forward.item() == pytest.approx(math.log(V))  # the biases start at 0


@pytest.mark.parametrize("sampled", [False, True])
def test_gradients_are_finite_differences(sampled: bool) -> None:
    bilm = make_bilm(clip=0.04)  # so small that some values are clipped and some are not
    masks, samples = two_masks(bilm), some_samples() if sampled else None

    def loss() -> Tensor:
        return sum(losses(bilm, samples, masks), torch.zeros(()))

    *_, state = textbook_loss(
        bilm, make_batch(1), make_batch(2), zero_state(bilm, B), samples=None, masks=None
    )
    clipped = state.forward.c.abs() == 0.04
    assert clipped.any()
    assert not clipped.all()

    loss().backward()
    step = 1e-6
    for name, weight in bilm.named_parameters():
        direction = torch.randn_like(weight)
        if name == "token_encoder.char_cnn.embedding.weight":
            assert weight.grad is not None
            assert not weight.grad[0].any()
            direction[0] = 0
        with torch.no_grad():
            weight.add_(step * direction)
            above = loss()
            weight.sub_(2 * step * direction)
            below = loss()
            weight.add_(step * direction)
        expected = ((above - below) / (2 * step)).item()
        assert (weight.grad * direction).sum().item() == pytest.approx(
            expected, rel=1e-5, abs=1e-8
        ), name


# --- the samples ----------------------------------------------------------------------------------


def test_expected_counts() -> None:
    once = log_uniform_expected_counts(1000, 1)  # the law itself
    assert once.sum().item() == pytest.approx(1)
    assert once[0].item() == pytest.approx(math.log(2) / math.log(1001))
    often = log_uniform_expected_counts(1000, 500)
    assert often[3].item() == pytest.approx(1 - (1 - once[3].item()) ** 500)
    assert (often.diff() < 0).all(), "a rarer word is expected less"


def test_draws_follow_the_expected_counts() -> None:
    generator = random.Random(0)
    n_draws, counts, expected = 2000, torch.zeros(50), torch.zeros(50)
    for _ in range(n_draws):
        samples = draw_samples(50, 10, generator)
        assert samples.ids.shape == samples.ids.unique().shape == (10,)
        counts[samples.ids] += 1 / n_draws
        expected += samples.log_q.exp() / n_draws
    torch.testing.assert_close(counts, expected, atol=0.04, rtol=0)
    assert sorted(draw_samples(9, 9, generator).ids.tolist()) == list(range(9))


# --- the step -------------------------------------------------------------------------------------


@pytest.mark.parametrize("clip_norm", [1e-3, 1e6])
def test_one_step_by_hand(clip_norm: float) -> None:
    bilm, masks = make_bilm(), two_masks(make_bilm())
    forward, backward = losses(bilm, some_samples(), masks)
    weights = list(bilm.parameters())
    gradients = torch.autograd.grad(T * (forward + backward) / 2, weights)
    norm = torch.cat([g.flatten() for g in gradients]).norm()
    expected = []
    for w, g in zip(weights, gradients, strict=True):
        clipped = g * min(1.0, clip_norm / norm.item())
        expected.append((w - 0.2 * clipped / torch.sqrt(1 + clipped**2)).detach())

    found = TextbookTrainer(bilm, clip_norm=clip_norm).step(
        make_batch(1), make_batch(2), some_samples(), masks
    )
    assert found == (forward.item(), backward.item())
    for w, wanted in zip(weights, expected, strict=True):
        torch.testing.assert_close(w.detach(), wanted)


def test_the_state_is_carried() -> None:
    whole = [make_batch(seed, n_steps=2 * T) for seed in (1, 2)]

    def part(steps: slice) -> list[Batch]:
        return [Batch(batch.char_ids[:, steps], batch.targets[:, steps]) for batch in whole]

    trainer = TextbookTrainer(make_bilm(), learning_rate=0.0)
    expected = trainer.step(*whole, None, None)
    trainer.state = None
    first, second = (trainer.step(*part(s), None, None) for s in (slice(T), slice(T, None)))
    assert [(a + b) / 2 for a, b in zip(first, second, strict=True)] == pytest.approx(expected)
    trainer.state = None
    without = trainer.step(*part(slice(T, None)), None, None)
    assert all(abs(a - b) > 1e-6 for a, b in zip(without, second, strict=True))


@pytest.mark.parametrize("sampled", [False, True])
def test_a_repeated_text_is_learnt(sampled: bool) -> None:
    """On the mean over networks: how far a small one gets depends on its first weights."""
    torch.manual_seed(5)
    spelling = torch.randint(1, 20, (V, C))
    text = torch.arange(B * (T + 1)).view(B, T + 1) * 3 % V  # word k is followed by k + 3
    forward = Batch(spelling[text[:, :-1]], text[:, 1:])
    backward = Batch(spelling[text.flip(1)[:, :-1]], text.flip(1)[:, 1:])

    def loss(bilm: BiLM) -> float:
        with torch.no_grad():
            found = textbook_loss(
                bilm, forward, backward, zero_state(bilm, B), samples=None, masks=None
            )
        return float(found[0] + found[1])

    before, after = [], []
    for seed in range(4):
        bilm = make_bilm(seed=seed).float()
        trainer, generator = TextbookTrainer(bilm), random.Random(seed)
        before.append(loss(bilm))
        for _ in range(150):
            samples = draw_samples(V, 6, generator) if sampled else None
            masks = (draw_masks(bilm, B, T, 0.1), draw_masks(bilm, B, T, 0.1))
            trainer.step(forward, backward, samples, masks)
        after.append(loss(bilm))
        assert not bilm.token_encoder.char_cnn.embedding.weight[0].any()
    assert sum(after) < 0.7 * sum(before)
