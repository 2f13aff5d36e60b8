"""The LSTM layers of one direction, time step after time step, compiled by TorchScript.

For one sentence, calling torch from Python takes as long as the arithmetic, and the two directions'
threads wait for each other's turn at the interpreter. TorchScript runs the same operations, to the
same bits, without the interpreter: a direction is one call. torch says that TorchScript is
deprecated and will not follow Python 3.14, where the functions run as they stand; torch.compile and
torch.export, which torch recommends instead, need a C++ compiler where they run or fix the number
of steps.

Shapes: W distinct words, N packed tokens, B sentences, L layers, p projection_dim, c cell_dim.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.engine.matmul import add_product, affine, write_product


class LayerWeights(NamedTuple):
    """One layer; its gates are in the order i, f, o, g, so that one sigmoid serves all."""

    input: Tensor
    """(p, 4c)"""
    bias: Tensor
    """(4c,)"""
    recurrent: Tensor
    """(p, 4c)"""
    projection: Tensor | None
    """(c, p), doubled, as the memory is."""
    cell_clip: float | None
    """Doubled."""
    projection_clip: float | None


def input_gates(x: Tensor, layer: LayerWeights, rounds: bool, min_rows: int = 16) -> Tensor:
    """Return the input's part of the gates, (N, p) -> (N, 4c).

    Matrix libraries multiply few rows with other kernels, which round differently, and an input may
    be a hundred times as large as a state: fewer than `min_rows` are padded with zeros.
    """
    n_rows = x.shape[0]
    if n_rows < min_rows:
        x = F.pad(x, [0, 0, 0, min_rows - n_rows])
    return affine(layer.bias, x, layer.input, rounds)[:n_rows]


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


def read_stack(  # noqa: PLR0917  TorchScript takes them by place fastest
    words: Tensor,
    tokens: Tensor,
    runs: list[tuple[int, int, list[int]]],
    last: Tensor,
    h: Tensor,
    c: Tensor,
    layers: list[LayerWeights],
    gates_by_word: bool,
    skip_connections: bool,
    rounds: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Read packed tokens (N,), each a row of words (W, p), by all layers of one direction.

    `runs` are the packed positions whose gates are held at once and the sizes of their steps,
    `last` (B,) is the position of each sentence's last step, `h` (L, B, p) and `c` (L, B, c) are
    the state before. Return the layers (L, N, p) and the state after.
    """
    outputs = words.new_empty([len(layers), tokens.shape[0], words.shape[1]])
    hs: list[Tensor] = []
    cs: list[Tensor] = []
    x = words
    for depth, layer in enumerate(layers):
        out = outputs[depth]
        last_h, doubled_c = h[depth], 2 * c[depth]
        # Many tokens are few distinct words: the first layer's gates are computed per word.
        by_word = words
        if depth == 0 and gates_by_word:
            by_word = input_gates(words, layer, rounds)
        for start, stop, sizes in runs:
            if depth > 0:
                gates = input_gates(x[start:stop], layer, rounds)
            elif gates_by_word:
                gates = by_word.index_select(0, tokens[start:stop])
            else:
                gates = input_gates(words.index_select(0, tokens[start:stop]), layer, rounds)
            last_h = lstm_steps(
                gates,
                sizes,
                last_h[: sizes[0]],
                doubled_c[: sizes[0]],
                out[start:stop],
                layer.recurrent,
                layer.projection,
                layer.cell_clip,
                layer.projection_clip,
                rounds,
            )
        hs.append(out.index_select(0, last))
        cs.append(doubled_c.div_(2))
        if skip_connections and depth > 0:
            out.add_(x)
        x = out
    return outputs, torch.stack(hs), torch.stack(cs)


@cache
def compiled_read_stack() -> Callable[..., tuple[Tensor, Tensor, Tensor]]:
    """Return `read_stack`, compiled where this Python can."""
    return compile_steps(read_stack)


def compile_steps(steps: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a recurrence where this Python can; it takes some 50 ms."""
    if sys.version_info >= (3, 14):
        return steps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        compiled: Callable[..., Any] = torch.jit.script(steps)
    return compiled
