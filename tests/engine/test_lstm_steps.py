"""The compiled recurrence against the same function as Python runs it."""

import pytest
import torch

from elmore.engine.lstm_steps import compiled_lstm_steps, lstm_steps
from elmore.engine.matmul import Matmul


@pytest.mark.parametrize("matmul", [Matmul(), Matmul(rounds=True), Matmul(True, True)])
@pytest.mark.parametrize(
    ("has_projection", "cell_clip", "projection_clip"),
    [(True, 0.4, 0.2), (True, None, None), (False, 0.4, None)],
)
def test_compiled_equals_interpreted(
    matmul: Matmul, *, has_projection: bool, cell_clip: float | None, projection_clip: float | None
) -> None:
    generator = torch.Generator().manual_seed(0)
    c_dim, sizes = 12, [3, 3, 2, 1]
    p_dim = 5 if has_projection else c_dim

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    gates, h, c = random(sum(sizes), 4 * c_dim), random(3, p_dim), random(3, c_dim)
    recurrent = matmul.operand(random(p_dim, 4 * c_dim))
    projection = matmul.operand(random(c_dim, p_dim)) if has_projection else None
    settings = (recurrent, projection, cell_clip, projection_clip, matmul.rounds)
    expected_c, expected_out = c.clone(), torch.empty(sum(sizes), p_dim)
    last = lstm_steps(gates.clone(), sizes, h, expected_c, expected_out, *settings)
    assert torch.equal(last, expected_out[-1:])
    compiled = compiled_lstm_steps()
    for _ in range(4):  # TorchScript looks at the first calls before it settles
        found_c, found_out = c.clone(), torch.empty(sum(sizes), p_dim)
        compiled(gates.clone(), sizes, h, found_c, found_out, *settings)
        assert torch.equal(found_c, expected_c)
        assert torch.equal(found_out, expected_out)
