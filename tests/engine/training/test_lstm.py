"""The LSTM layers' forward and backward passes are the textbook's."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from elmore.bilm_config import LstmConfig
from elmore.engine.parallel import n_threads, run_all, set_n_threads
from elmore.engine.training.dropout import Dropout
from elmore.engine.training.lstm import DirectionTraining
from elmore.model.lstm import LstmStack

T, B, W = 7, 53, 30
CLIPS = {"cell_clip": 0.3, "projection_clip": 0.1}  # that bite


def made(**changes: Any) -> LstmStack:
    torch.manual_seed(1)
    stack = LstmStack(
        LstmConfig(**({"n_layers": 2, "cell_dim": 20, "projection_dim": 6} | CLIPS | changes))
    )
    for weight in stack.parameters():
        torch.nn.init.normal_(weight, std=stack.config.projection_dim**-0.5)
    return stack


def arrays_of(stack: LstmStack) -> dict[str, np.ndarray]:
    return {f"lstm.{name}": weight.detach().numpy() for name, weight in stack.named_parameters()}


def drawn(
    stack: LstmStack,
) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Vectors, words, a state and starts."""
    random = np.random.default_rng(2)
    config = stack.config
    vectors = random.standard_normal((W, config.projection_dim)).astype(np.float32)
    words = random.integers(0, W, T * B).astype(np.int32)
    h, c = (
        0.1 * random.standard_normal((config.n_layers, B, dim)).astype(np.float32)
        for dim in (config.projection_dim, config.cell_dim)
    )
    return vectors, words, (h, c), random.random((T, B)) < 0.3


def textbook(
    stack: LstmStack, x: Tensor, state: Any, starts: np.ndarray | None, masks: list[Tensor]
) -> list[Tensor]:
    """The outputs of each layer, (N, p), and at last of the dropout after them."""
    outputs = []
    for depth, layer in enumerate(stack.layers):
        h, c = (torch.from_numpy(part[depth]) for part in state)
        x = x * masks[depth]
        steps = []
        for t, x_t in enumerate(x.view(T, B, -1)):
            if starts is not None:
                real = torch.from_numpy(~starts[t])[:, None]
                h, c = h * real, c * real
            h, c = layer.step(x_t, h, c)
            steps.append(h)
        y = torch.cat(steps)
        x = x + y if stack.config.skip_connections and depth > 0 else y
        outputs.append(x)
    return [*outputs, x * masks[-1]]


CASES: dict[str, dict[str, Any]] = {
    "clips": {},
    "no clips": {"cell_clip": None, "projection_clip": None},
    "no skip": {"skip_connections": False},
    "no projection": {"projection_dim": 20},
    "forget bias": {"forget_bias": 0.5},
    "square projection": {"projection_dim": 20, "always_project": True},
    "wide": {"cell_dim": 170, "projection_dim": 150, "cell_clip": None, "projection_clip": None},
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("starting", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_equal_to_the_textbook(name: str, starting: bool, rate: float) -> None:
    stack = made(**CASES[name])
    vectors, words, state, starts = drawn(stack)
    direction = DirectionTraining(stack.config, arrays_of(stack), "lstm", (T, B))
    drops = [Dropout.seeded(rate, 5, k) for k in range(3)] if rate else []
    run_all(direction.pack_jobs())
    run_all(
        direction.forward_jobs(
            vectors, words, state, starts=starts if starting else None, dropouts=drops
        )
    )
    ones = [np.ones_like(direction.states) for _ in range(3)]
    for mask, dropout in zip(ones, drops, strict=False):
        dropout.drop(mask)
    leaf = torch.from_numpy(vectors).requires_grad_()
    masks = [torch.from_numpy(mask) for mask in ones]
    tokens = leaf[torch.from_numpy(words).long()]
    tokens.retain_grad()
    expected = textbook(stack, tokens, state, starts if starting else None, masks)
    np.testing.assert_allclose(direction.states, expected[-1].detach(), atol=1e-5)
    if stack.config.cell_clip:
        cells = direction.layers[0].c[1:, :, : stack.config.cell_dim]
        assert 0.01 < (np.abs(cells) >= stack.config.cell_clip).mean() < 0.99

    dstates, dlower = (
        np.random.default_rng(3).standard_normal((2, *direction.states.shape)).astype("f")
    )
    loss = (expected[-1] * torch.from_numpy(dstates)).sum()
    loss = loss + (expected[0] * torch.from_numpy(dlower)).sum()
    loss.backward()
    gradients = {name: np.zeros_like(array) for name, array in arrays_of(stack).items()}
    run_all(direction.backward_jobs(dstates, dlower=[dlower]))
    run_all(direction.weight_jobs(gradients))
    assert tokens.grad is not None
    np.testing.assert_allclose(direction.dvectors, tokens.grad, atol=2e-5, rtol=1e-4)
    for weight_name, weight in stack.named_parameters():
        assert weight.grad is not None
        scale = float(weight.grad.abs().max())
        np.testing.assert_allclose(
            gradients[f"lstm.{weight_name}"] / scale, weight.grad / scale, atol=1e-5,
            err_msg=weight_name,
        )  # fmt: skip


def run(n: int, *, bfloat16: bool = False, **changes: Any) -> list[np.ndarray]:
    before = n_threads()
    set_n_threads(n)
    try:
        stack = made(**changes)
        vectors, words, state, starts = drawn(stack)
        direction = DirectionTraining(
            stack.config, arrays_of(stack), "lstm", (T, B), bfloat16=bfloat16
        )
        drops = [Dropout.seeded(0.1, 5, k) for k in range(3)]
        run_all(direction.pack_jobs())
        run_all(direction.forward_jobs(vectors, words, state, starts=starts, dropouts=drops))
        gradients = {name: np.zeros_like(array) for name, array in arrays_of(stack).items()}
        run_all(direction.backward_jobs(direction.states.copy()))
        run_all(direction.weight_jobs(gradients))
        return [direction.states, *direction.state(), direction.dvectors, *gradients.values()]
    finally:
        set_n_threads(before)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_any_number_of_threads_gives_the_same_bits(bfloat16: bool) -> None:
    once = run(1, bfloat16=bfloat16)
    for n in (2, 4, 8):
        for expected, found in zip(once, run(n, bfloat16=bfloat16), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_bfloat16_is_close() -> None:
    no_clips = CASES["no clips"]  # whose gradients a rounding turns off
    exactly, rounding = run(1, **no_clips), run(1, bfloat16=True, **no_clips)
    for exact, rounded in zip(exactly, rounding, strict=True):
        assert not np.array_equal(exact, rounded)
        cosine = (exact * rounded).sum() / np.sqrt((exact**2).sum() * (rounded**2).sum())
        assert cosine > 0.999


def test_a_frozen_weight_gets_no_gradient() -> None:
    stack = made()
    vectors, words, state, _ = drawn(stack)
    arrays = arrays_of(stack)
    direction = DirectionTraining(stack.config, arrays, "lstm", (T, B))
    run_all([*direction.pack_jobs(), *direction.forward_jobs(vectors, words, state)])
    run_all(direction.backward_jobs(direction.states.copy()))
    whole = {name: np.zeros_like(array) for name, array in arrays.items()}
    run_all(direction.weight_jobs(whole))
    for frozen in ("input_weight", "bias", "projection"):
        some = {name: np.zeros_like(array) for name, array in arrays.items() if frozen not in name}
        run_all(direction.weight_jobs(some))
        for name, gradient in some.items():
            np.testing.assert_array_equal(gradient, whole[name])


def test_a_shard_of_streams_is_the_same_as_in_the_whole_batch() -> None:
    stack = made()
    vectors, words, (h, c), starts = drawn(stack)
    drops = [Dropout.seeded(0.2, 5, k) for k in range(3)]
    whole = DirectionTraining(stack.config, arrays_of(stack), "lstm", (T, B))
    run_all([*whole.pack_jobs()])
    run_all(whole.forward_jobs(vectors, words, (h, c), starts=starts, dropouts=drops))
    some = slice(9, 31)
    part = DirectionTraining(stack.config, arrays_of(stack), "lstm", (T, 22), streams=(9, B))
    words_of_some = np.ascontiguousarray(words.reshape(T, B)[:, some]).ravel()
    run_all(part.pack_jobs())
    run_all(
        part.forward_jobs(
            vectors, words_of_some, (h[:, some], c[:, some]), starts=starts[:, some], dropouts=drops
        )
    )
    expected = whole.states.reshape(T, B, -1)[:, some]
    np.testing.assert_array_equal(part.states.reshape(T, 22, -1), expected)
