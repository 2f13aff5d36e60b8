"""The mix against the oracle, its gradients against finite differences, its options one by one."""

from typing import Any

import numpy as np
import pytest
import torch

from elmore.errors import ConfigError
from elmore.model.mix import ScalarMix
from tests.oracle import elmo as oracle

LAYERS = torch.randn(3, 2, 5, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
MASK = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], dtype=torch.bool)
W, GAMMA = [0.3, -1.0, 2.0], 1.7


def make(norm: Any = "none", **options: Any) -> ScalarMix:
    mix = ScalarMix(3, norm=norm, **options).double()
    with torch.no_grad():
        mix.w.copy_(torch.tensor(W, dtype=torch.float64))
        mix.gamma.fill_(GAMMA)
    return mix


@pytest.mark.parametrize("norm", ["none", "token", "bilm-tf", "allennlp"])
def test_agrees_with_the_oracle(norm: str) -> None:
    found = make(norm)(LAYERS, MASK).detach().numpy()
    batch = LAYERS.transpose(0, 1).numpy()  # (B, L + 1, T, D)
    expected = oracle.mix(batch, W, GAMMA, None if norm == "none" else norm, MASK.numpy())
    np.testing.assert_allclose(found[MASK.numpy()], expected[MASK.numpy()], atol=1e-9)
    assert (found[~MASK.numpy()] == 0).all()


@pytest.mark.parametrize("norm", ["none", "token", "bilm-tf", "allennlp"])
def test_gradients(norm: str) -> None:
    mix = make(norm)
    layers = LAYERS.clone().requires_grad_()

    def run(x: torch.Tensor, w: torch.Tensor, gamma: torch.Tensor) -> Any:
        return torch.func.functional_call(mix, {"w": w, "gamma": gamma}, (x, MASK))

    assert torch.autograd.gradcheck(run, (layers, mix.w, mix.gamma))


def test_only_the_batch_wise_norms_depend_on_the_batch() -> None:
    for norm in ("none", "token", "bilm-tf", "allennlp"):
        together = make(norm)(LAYERS, MASK)[1, :2]
        alone = make(norm)(LAYERS[:, 1:], MASK[1:])[0, :2]
        assert torch.allclose(together, alone) == (norm in ("none", "token"))


def test_starts_equal_and_reports_what_it_holds() -> None:
    assert ScalarMix(4).weights() == {
        **{f"layer {j}": pytest.approx(0.25) for j in range(4)},
        "gamma": pytest.approx(1.0),
    }


def test_given_weights_are_the_mix() -> None:
    assert ScalarMix(3, weights=(1, 1, 2)).s.tolist() == pytest.approx([0.25, 0.25, 0.5])
    top = ScalarMix(3, weights=(0, 0, 1), trainable=False)
    assert torch.equal(top(LAYERS.float(), MASK), LAYERS[2].float() * MASK[:, :, None])


def test_fixed_weights_do_not_learn() -> None:
    mix = ScalarMix(3, weights=(1, 2, 1), trainable=False)
    assert not any(parameter.requires_grad for parameter in mix.parameters())


def test_dropout_only_while_training() -> None:
    torch.manual_seed(0)
    mix = make(dropout=0.5)
    dropped = mix(LAYERS, MASK)[MASK]
    assert 0.2 < (dropped == 0).double().mean() < 0.8
    assert torch.equal(mix.eval()(LAYERS, MASK), make()(LAYERS, MASK))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "layer"}, "norm is 'layer'; expected one of"),
        ({"weights": (1, 2)}, "2 mix weights for 3 layers"),
        ({"weights": (1, -2, 3)}, "none below 0"),
        ({"weights": (0, 0, 0), "trainable": False}, "not all 0"),
        ({"weights": (0, 1, 1)}, "never learns"),
        ({"dropout": 1.0}, "dropout is 1.0"),
    ],
)
def test_bad_options(options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ScalarMix(3, **options)


def test_another_number_of_layers() -> None:
    with pytest.raises(ConfigError, match="3 weights, for 2 layers"):
        ScalarMix(3)(LAYERS[:2].float(), MASK)
