"""The recurrence of one LSTM layer, time step after time step, compiled by TorchScript.

For one sentence, calling torch from Python takes as long as the arithmetic, and the two directions'
threads wait for each other's turn at the interpreter. TorchScript runs the same operations, to the
same bits, without the interpreter: one sentence of 20 tokens takes about 60 % of the time. torch
says that TorchScript is deprecated and will not follow Python 3.14, where the function runs as it
stands; torch.compile and torch.export, which torch recommends instead, need a C++ compiler where
they run or fix the number of steps.

Shapes: N packed tokens, B sentences, p projection_dim, c cell_dim.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from elmore.engine.matmul import add_product, write_product

LstmSteps = Callable[..., Tensor]


def lstm_steps(  # noqa: PLR0917  TorchScript takes them by place fastest
    gates: Tensor,
    sizes: list[int],
    h: Tensor,
    c: Tensor,
    out: Tensor,
    recurrent: Tensor,
    projection: Tensor | None,
    cell_clip: float | None,
    projection_clip: float | None,
    rounds: bool,
) -> Tensor:
    """Step through packed gates (N, 4c), which are used up; write h (N, p) to `out`.

    Gates stand in the order i, f, o, g, and g's are doubled, so that one sigmoid does for all.
    `h` (B, p) is the state before, `c` (B, c) is twice the memory, changed in place, as `cell_clip`
    is twice the clip and `projection` (c, p) twice the weight. Return the last step's h.
    """
    c_dim = c.shape[1]
    work = torch.empty_like(c)
    half = torch.full([], 0.5)  # a number of Python's would be made a tensor at every step
    i_steps = gates[:, :c_dim].split_with_sizes(sizes)
    f_steps = gates[:, c_dim : 2 * c_dim].split_with_sizes(sizes)
    o_steps = gates[:, 2 * c_dim : 3 * c_dim].split_with_sizes(sizes)
    g_steps = gates[:, 3 * c_dim :].split_with_sizes(sizes)
    gate_steps, out_steps = gates.split_with_sizes(sizes), out.split_with_sizes(sizes)
    for step, size in enumerate(sizes):
        if size != c.shape[0]:
            h, c, work = h[:size], c[:size], work[:size]
        add_product(gate_steps[step], h, recurrent, rounds).sigmoid_()
        # 2 i tanh = 4 i (g - 1/2)
        c.mul_(f_steps[step]).addcmul_(i_steps[step], g_steps[step].sub_(half), value=4)
        if cell_clip is not None:
            c.clamp_(-cell_clip, cell_clip)
        torch.sigmoid(c, out=work).sub_(half).mul_(o_steps[step])  # o tanh(c) / 2
        h = out_steps[step]
        if projection is None:
            torch.add(work, work, out=h)
        else:
            write_product(h, work, projection, rounds)
            if projection_clip is not None:
                h.clamp_(-projection_clip, projection_clip)
    return h


@cache
def compiled_lstm_steps() -> LstmSteps:
    """Return the recurrence, compiled where this Python can."""
    return compile_steps(lstm_steps)


def compile_steps(steps: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a recurrence where this Python can; it takes some 50 ms."""
    if sys.version_info >= (3, 14):
        return steps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        compiled: Callable[..., Any] = torch.jit.script(steps)
    return compiled
