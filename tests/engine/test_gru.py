"""A GRU of several directions is torch's in each of them, and so are its gradients."""

import pytest
import torch
from torch import nn

from elmore.engine import gru as module
from elmore.engine.gru import gru


def given(seed: int = 1) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def new(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    return new(5, 2, 3, 12), new(2, 1, 4), new(2, 4, 12)


@pytest.mark.parametrize("compiled", [True, False])
def test_it_is_a_gru_with_the_same_gradients(
    *, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        steps = module.gru_steps, module.gru_steps_back
        monkeypatch.setattr(module, "_compiled", lambda: steps)
    inputs, bias, recurrent = given()
    found = gru(inputs, bias, recurrent)
    factors = torch.randn_like(found)
    gradients = torch.autograd.grad((found * factors).sum(), (inputs, bias, recurrent))
    for k in range(2):
        theirs = nn.GRU(12, 4, bias=True).double()
        with torch.no_grad():
            theirs.weight_ih_l0.copy_(torch.eye(12))
            theirs.bias_ih_l0.zero_()
            theirs.weight_hh_l0.copy_(recurrent[k].T)
            theirs.bias_hh_l0.zero_()
            theirs.bias_hh_l0[8:] = bias[k, 0]
        read = inputs[:, k].detach().requires_grad_()
        expected = theirs(read)[0]
        torch.testing.assert_close(found[:, k], expected)
        (expected * factors[:, k]).sum().backward()
        torch.testing.assert_close(gradients[0][:, k], read.grad)
        torch.testing.assert_close(gradients[1][k, 0], theirs.bias_hh_l0.grad[8:])
        torch.testing.assert_close(gradients[2][k].T, theirs.weight_hh_l0.grad)


def test_gradients_by_finite_differences() -> None:
    assert torch.autograd.gradcheck(gru, given(2))
