"""The learned mix in NumPy equals `ScalarMix`."""

import numpy as np
import pytest
import torch

from elmore.engine.mix import Mix
from elmore.engine.states import context_states, expected_states, with_context_layer
from elmore.errors import ConfigError
from elmore.model import context
from elmore.model.mix import ScalarMix

LAYERS = np.random.default_rng(0).standard_normal((3, 7, 10)).astype(np.float32) * 3


@pytest.mark.parametrize("norm", ["none", "token", "bilm-tf", "allennlp"])
@pytest.mark.parametrize("context_layer", [False, True])
def test_equals_the_mix_of_a_task(norm: str, context_layer: bool) -> None:
    weights = [0.2, 0.5, 1.3, 0.7][: 3 + context_layer]
    learned = ScalarMix(3, weights=weights, gamma=1.7, norm=norm, context_layer=context_layer)
    mix = Mix.of(learned)
    layers = with_context_layer(LAYERS) if context_layer else LAYERS
    expected = learned(torch.from_numpy(layers[:, None]), torch.ones(1, 7, dtype=torch.bool))
    np.testing.assert_allclose(mix(layers), expected.detach()[0], atol=2e-6)
    assert mix.weights() == pytest.approx(learned.weights())


def test_a_text_without_tokens() -> None:
    assert Mix.uniform(3)(LAYERS[:, :0]).shape == (0, 10)
    assert Mix((1.0, 1.0, 1.0), norm="token")(LAYERS[:, :0]).shape == (0, 10)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"s": (1.0, -1.0)}, r"mix weights are \[1.0, -1.0\]"),
        ({"s": (0.0, 0.0)}, "not all 0"),
        ({"s": (1.0,), "gamma": float("nan")}, "gamma is nan"),
        ({"s": (1.0,), "norm": "batch"}, "norm is 'batch'"),
    ],
)
def test_what_is_no_mix_is_refused(wrong: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Mix(**wrong)


def test_states_that_predict_a_token_are_those_of_the_textbook() -> None:
    top = torch.from_numpy(LAYERS[-1])
    np.testing.assert_array_equal(context_states(LAYERS[-1]), context.context_states(top))
    np.testing.assert_array_equal(expected_states(LAYERS[-1]), context.expected_states(top))
