"""The gradients of the mix."""

import torch

from elmore import Elmo
from elmore.tasks import Classifier
from tests.tasks.made_examples import SMALL, texts


def test_the_gradients_of_the_mix_are_those_of_its_equation(tiny_elmo: Elmo) -> None:
    """ELMo = gamma * sum_j s_j h_j: its derivatives by w and gamma, written out."""
    model = Classifier(tiny_elmo, **SMALL, elmo_dropout=0.0).fit(texts(20))
    (layers,) = (v.vectors for v in tiny_elmo.encode_tokens(["the film was good"], layers="all"))
    h = torch.from_numpy(layers)[:, None].double()
    mask = torch.ones(1, h.shape[2], dtype=torch.bool)
    mix = model.mix.double()
    mix.zero_grad()
    upstream = torch.randn(1, h.shape[2], h.shape[3], dtype=torch.float64)
    (mix(h, mask) * upstream).sum().backward()
    s, gamma = mix.s.detach(), mix.gamma.detach()
    by_layer = (h * upstream).sum(dim=(1, 2, 3))
    torch.testing.assert_close(mix.gamma.grad, (s * by_layer).sum())
    torch.testing.assert_close(mix.w.grad, gamma * s * (by_layer - (s * by_layer).sum()))
