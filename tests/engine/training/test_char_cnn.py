"""The char CNN's forward and backward passes are the textbook's."""

import numpy as np
import pytest
import torch

from elmore.bilm_config import CharCnnConfig
from elmore.engine.parallel import n_threads, run_all, set_n_threads
from elmore.engine.training.char_cnn import CharCnnTraining
from elmore.model.char_cnn import CharCnn

W, C = 77, 14


def made(activation: str = "relu", n_highway: int = 2) -> CharCnn:
    torch.manual_seed(1)
    config = CharCnnConfig(5, ((1, 4), (2, 17), (4, 40)), n_highway, activation, max_characters=C)
    cnn = CharCnn(config)
    for weight in cnn.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return cnn


def words() -> np.ndarray:
    random = np.random.default_rng(1)
    ids = random.integers(1, 262, (W, C)).astype(np.int32)
    for row, length in zip(ids, random.integers(2, C + 1, W), strict=True):
        row[length:] = 261  # padding
    return ids


def arrays_of(cnn: CharCnn) -> dict[str, np.ndarray]:
    return {f"cnn.{name}": weight.detach().numpy() for name, weight in cnn.named_parameters()}


def run(
    cnn: CharCnn, dvectors: np.ndarray, *, bfloat16: bool = False
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    arrays = arrays_of(cnn)
    training = CharCnnTraining(arrays, "cnn", activation=cnn.activation, bfloat16=bfloat16)
    run_all(training.pack_jobs())
    vectors = training.forward(words())
    gradients = {name: np.zeros_like(array) for name, array in arrays.items()}
    training.backward(dvectors, gradients)
    return vectors, gradients


def drawn(cnn: CharCnn) -> np.ndarray:
    n = sum(layer.out_channels for layer in cnn.convolutions)
    return np.random.default_rng(2).standard_normal((W, n)).astype(np.float32)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("n_highway", [0, 1, 2])
def test_equal_to_the_textbook(activation: str, n_highway: int) -> None:
    cnn = made(activation, n_highway)
    dvectors = drawn(cnn)
    vectors, gradients = run(cnn, dvectors)
    expected = cnn(torch.from_numpy(words()).long())
    np.testing.assert_allclose(vectors, expected.detach(), atol=1e-5)
    expected.backward(torch.from_numpy(dvectors))
    for name, weight in cnn.named_parameters():
        assert weight.grad is not None
        scale = float(weight.grad.abs().max())
        np.testing.assert_allclose(
            gradients[f"cnn.{name}"] / scale, weight.grad / scale, atol=1e-5, err_msg=name
        )


@pytest.mark.parametrize("bfloat16", [False, True])
def test_any_number_of_threads_gives_the_same_bits(bfloat16: bool) -> None:
    before = n_threads()
    found = []
    try:
        for n in (1, 2, 4):
            set_n_threads(n)
            cnn = made()
            vectors, gradients = run(cnn, drawn(cnn), bfloat16=bfloat16)
            found.append([vectors, *gradients.values()])
    finally:
        set_n_threads(before)
    for other in found[1:]:
        for expected, array in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(array, expected)


def test_frozen_weights_get_no_gradient() -> None:
    cnn = made()
    dvectors = drawn(cnn)
    _, whole = run(cnn, dvectors)
    training = CharCnnTraining(arrays_of(cnn), "cnn", activation=cnn.activation)
    run_all(training.pack_jobs())
    training.forward(words())
    some = {name: np.zeros_like(x) for name, x in whole.items() if name.endswith("bias")}
    training.backward(dvectors, some)
    for name, gradient in some.items():
        np.testing.assert_array_equal(gradient, whole[name])
