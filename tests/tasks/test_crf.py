"""The CRF is the sum and the maximum over all sequences of tags, written out."""

from itertools import pairwise, product

import pytest
import torch
from torchcrf import CRF

from elmore.tasks.crf import Crf
from elmore.tasks.schemes import allowed_transitions

N_TAGS = 3


def crf_and_batch(seed: int = 1) -> tuple[Crf, torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    crf = Crf(N_TAGS).double()
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    lengths = torch.tensor([4, 1, 3])
    mask = torch.arange(4) < lengths[:, None]
    emissions = torch.randn(3, 4, N_TAGS, generator=generator, dtype=torch.float64)
    tags = torch.randint(N_TAGS, (3, 4), generator=generator)
    return crf, emissions, tags, mask


def score(crf: Crf, emissions: torch.Tensor, tags: tuple[int, ...]) -> float:
    total = crf.start[tags[0]] + crf.end[tags[-1]]
    total = total + sum(emissions[t, tag] for t, tag in enumerate(tags))
    total = total + sum(crf.transitions[a, b] for a, b in pairwise(tags))
    return float(total.detach())


@pytest.mark.parametrize("seed", range(5))
def test_probability_and_best_by_brute_force(seed: int) -> None:
    crf, emissions, tags, mask = crf_and_batch(seed)
    found = crf(emissions, tags, mask)
    decoded = crf.decode(emissions, mask)
    marginals = crf.marginals(emissions, mask)
    for row, length in enumerate(mask.sum(1).tolist()):
        every = list(product(range(N_TAGS), repeat=length))
        scores = torch.tensor([score(crf, emissions[row], y) for y in every], dtype=torch.float64)
        mine = score(crf, emissions[row], tuple(tags[row, :length].tolist()))
        assert found[row].item() == pytest.approx(mine - float(torch.logsumexp(scores, 0)))
        assert decoded[row] == list(every[int(scores.argmax())])
        shares = scores.softmax(0)
        for t in range(length):
            for tag in range(N_TAGS):
                share = sum(p for p, y in zip(shares, every, strict=True) if y[t] == tag)
                torch.testing.assert_close(marginals[row, t, tag], share)
        assert marginals[row, length:].abs().sum() == 0


def test_padding_does_not_matter() -> None:
    crf, emissions, tags, mask = crf_and_batch()
    expected, decoded = crf(emissions, tags, mask), crf.decode(emissions, mask)
    emissions[~mask] = 1e3
    tags[~mask] = 0
    torch.testing.assert_close(crf(emissions, tags, mask), expected)
    assert crf.decode(emissions, mask) == decoded


def test_only_what_is_allowed_is_found() -> None:
    tags = ["O", "B-X", "I-X"]
    crf, emissions, _, mask = crf_and_batch()
    crf.allowed = allowed_transitions(tags, "bio")
    emissions[:, :, 2] += 5  # I-X would be best everywhere
    for found in crf.decode(emissions, mask):
        names = [tags[k] for k in found]
        assert names[0] != "I-X"
        assert all(before != "O" for before, after in pairwise(names) if after == "I-X")
    every = crf(emissions, torch.full((3, 4), 2), mask)
    assert torch.isfinite(every).all()  # training takes whatever the data has


def test_gradients_are_those_of_the_sum() -> None:
    crf, emissions, tags, mask = crf_and_batch()
    emissions.requires_grad_()
    assert torch.autograd.gradcheck(lambda e: crf(e, tags, mask), (emissions,))


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_pytorch_crf(seed: int) -> None:
    crf, emissions, tags, mask = crf_and_batch(seed)
    theirs = CRF(N_TAGS, batch_first=True).double()
    with torch.no_grad():
        theirs.start_transitions.copy_(crf.start)
        theirs.transitions.copy_(crf.transitions)
        theirs.end_transitions.copy_(crf.end)
    expected = theirs(emissions, tags, mask, reduction="none")
    torch.testing.assert_close(crf(emissions, tags, mask), expected)
    assert crf.decode(emissions, mask) == theirs.decode(emissions, mask)
