"""An untrained network's weights have bilm-tf's distributions."""

import numpy as np
import pytest

from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
    array_shapes,
)
from elmore.initial_weights import drawn_arrays

P, C, V = 32, 64, 500


def drawn(activation: str = "relu", combine: str = "add", seed: int = 0) -> dict[str, np.ndarray]:
    chars = CharCnnConfig(16, ((1, 16), (3, 48)), 1, activation)
    encoder = TokenEncoderConfig(chars, WordTableConfig(V, P), combine)
    config = BiLMConfig(encoder, LstmConfig(1, C, P), V)
    arrays = drawn_arrays(config, np.random.default_rng(seed))
    assert {name: array.shape for name, array in arrays.items()} == array_shapes(config)
    assert all(array.dtype == np.float32 for array in arrays.values())
    return arrays


def is_uniform(array: np.ndarray, bound: float) -> bool:
    is_wide = array.std() == pytest.approx(bound / 3**0.5, rel=0.1)
    return bool(is_wide and 0.9 * bound < np.abs(array).max() <= bound)


def is_normal(array: np.ndarray, deviation: float) -> bool:
    return bool(
        array.std() == pytest.approx(deviation, rel=0.1) and np.abs(array).max() > 2.2 * deviation
    )


def test_each_weight_has_its_distribution() -> None:
    arrays = drawn()
    encoder, lstm = "token_encoder.char_cnn", "backward_lstm.layers.0"
    assert is_uniform(arrays[f"{encoder}.embedding.weight"][1:], 1.0)
    assert not arrays[f"{encoder}.embedding.weight"][0].any()
    assert is_uniform(arrays[f"{encoder}.convolutions.1.weight"], 0.05)
    assert is_normal(drawn("tanh")[f"{encoder}.convolutions.1.weight"], 48**-0.5)
    assert is_normal(arrays[f"{encoder}.highways.0.transform.weight"], 64**-0.5)
    assert (arrays[f"{encoder}.highways.0.gate.bias"] == -2).all()
    assert is_normal(arrays["token_encoder.projection.weight"], 64**-0.5)
    assert is_uniform(arrays[f"{lstm}.recurrent_weight"], (6 / (4 * C + 2 * P)) ** 0.5)
    assert is_uniform(arrays[f"{lstm}.projection"], (6 / (C + P)) ** 0.5)
    assert is_normal(arrays["softmax.weight"], P**-0.5)
    for name in ("softmax.bias", f"{lstm}.bias", f"{encoder}.highways.0.transform.bias"):
        assert not arrays[name].any()


def test_a_table_that_is_added_begins_with_zeros() -> None:
    assert not drawn()["token_encoder.words.weight"].any()
    assert is_normal(drawn(combine="concat")["token_encoder.words.weight"], 1.0)


def test_the_same_seed_draws_the_same() -> None:
    one, same, other = drawn(), drawn(), drawn(seed=1)
    assert all(np.array_equal(array, same[name]) for name, array in one.items())
    assert not np.array_equal(one["softmax.weight"], other["softmax.weight"])
