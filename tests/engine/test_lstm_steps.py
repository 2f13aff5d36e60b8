"""The compiled layers against the same function as Python runs it."""

import pytest
import torch

from elmore.engine.lstm_steps import LayerWeights, compiled_read_stack, read_stack
from elmore.engine.matmul import Matmul

SIZES = [3, 3, 2, 1]
RUNS = {
    "at once": [(0, 9, SIZES)],
    "in parts": [(0, 6, SIZES[:2]), (6, 9, SIZES[2:])],
}


@pytest.mark.parametrize("matmul", [Matmul(), Matmul(rounds=True), Matmul(True, True)])
@pytest.mark.parametrize(
    ("has_projection", "cell_clip", "projection_clip"),
    [(True, 0.4, 0.2), (True, None, None), (False, 0.4, None)],
)
@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("gates_by_word", [True, False])
def test_compiled_equals_interpreted(
    matmul: Matmul,
    *,
    has_projection: bool,
    cell_clip: float | None,
    projection_clip: float | None,
    runs: str,
    gates_by_word: bool,
) -> None:
    generator = torch.Generator().manual_seed(0)
    n_layers, c_dim, n_words = 3, 12, 7
    p_dim = 5 if has_projection else c_dim

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    layers = [
        LayerWeights(
            input=matmul.operand(random(p_dim, 4 * c_dim)),
            bias=random(4 * c_dim),
            recurrent=matmul.operand(random(p_dim, 4 * c_dim)),
            projection=matmul.operand(random(c_dim, p_dim)) if has_projection else None,
            cell_clip=cell_clip,
            projection_clip=projection_clip,
        )
        for _ in range(n_layers)
    ]
    words, tokens = random(n_words, p_dim), torch.arange(sum(SIZES)) % n_words
    h, c = random(n_layers, 3, p_dim), random(n_layers, 3, c_dim)
    last = torch.tensor([8, 7, 5])

    def run(read: object) -> tuple[torch.Tensor, ...]:
        assert callable(read)
        found: tuple[torch.Tensor, ...] = read(
            words, tokens, RUNS[runs], last, h, c, layers, gates_by_word, True, matmul.rounds
        )
        return found

    expected = run(read_stack)
    assert [tuple(one.shape) for one in expected] == [(3, 9, p_dim), (3, 3, p_dim), (3, 3, c_dim)]
    assert torch.equal(expected[1][0], expected[0][0, last])
    for _ in range(4):  # TorchScript looks at the first calls before it settles
        for found, right in zip(run(compiled_read_stack()), expected, strict=True):
            assert torch.equal(found, right)
