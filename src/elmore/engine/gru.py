"""GRUs of several directions at once, with a backward pass written by hand.

torch's GRU takes one direction after the other, and some ten operations a step of each, forward and
backward. Here all directions take each step together, in five operations forward and four backward;
what does not depend on the step before is computed for all steps at once. The steps are compiled by
TorchScript, because calling torch from Python takes as long as the arithmetic of a few sentences;
Python 3.14, which it does not follow, runs them as they stand. The equations are torch's:

    r, z = sigmoid(x_rz + h U_rz);  n = tanh(x_n + r * (h U_n + c));  h' = (1 - z) * n + z * h

where x are the products of the input, with all biases but c. Shapes: T steps, K directions, B
sentences, H dimensions.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor


def gru(inputs: Tensor, bias: Tensor, recurrent: Tensor) -> Tensor:
    """Return the states h, (T, K, B, H), from zero states.

    `inputs`, (T, K, B, 3H), are x of r, z and n; `bias` is c, (K, 1, H), `recurrent` is U,
    (K, H, 3H).
    """
    found: Tensor = _Gru.apply(inputs, bias, recurrent)  # type: ignore[no-untyped-call]
    return found


def gru_steps(gates: Tensor, new: Tensor, states: Tensor, recurrent: Tensor) -> None:
    """Step through `gates` (T, K, B, 3H): x_r, x_z and c, which become r, z and h U_n + c.

    `new` (T, K, B, H) is x_n and becomes n. `states` (T + 1, K, B, H) begins with the first; the
    others are written.
    """
    dim = new.shape[3]
    r_steps, z_steps = gates[..., :dim].unbind(0), gates[..., dim : 2 * dim].unbind(0)
    both_steps, hn_steps = gates[..., : 2 * dim].unbind(0), gates[..., 2 * dim :].unbind(0)
    gate_steps, new_steps, state_steps = gates.unbind(0), new.unbind(0), states.unbind(0)
    for t in range(gates.shape[0]):
        gate_steps[t].baddbmm_(state_steps[t], recurrent)
        both_steps[t].sigmoid_()
        n = new_steps[t].addcmul_(r_steps[t], hn_steps[t]).tanh_()
        torch.lerp(n, state_steps[t], z_steps[t], out=state_steps[t + 1])


def gru_steps_back(by_state: Tensor, by_gate: Tensor, z: Tensor, transposed: Tensor) -> None:
    """Step back through `by_state` (T, K, B, H), the gradients of the loss by each h itself.

    They become those by way of later steps too. `by_gate` (T, K, B, 3, H) is how each gate's sum
    changes h, and becomes the gradient of h U + c. `transposed` is that of U, (K, 3H, H).
    """
    state_steps, gate_steps, z_steps = by_state.unbind(0), by_gate.unbind(0), z.unbind(0)
    flat_steps = by_gate.flatten(3).unbind(0)
    for back in range(by_state.shape[0]):
        t = by_state.shape[0] - 1 - back
        state = state_steps[t]
        gate_steps[t].mul_(state.unsqueeze(2))
        if t > 0:
            state_steps[t - 1].addcmul_(state, z_steps[t]).baddbmm_(flat_steps[t], transposed)


@cache
def _compiled() -> tuple[Any, Any]:
    return _by_torchscript(gru_steps), _by_torchscript(gru_steps_back)


class _Gru(torch.autograd.Function):
    """`gru`, and its gradients."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, bias: Tensor, recurrent: Tensor) -> Tensor:
        n_steps, n_directions, n_sentences, dim = *inputs.shape[:3], inputs.shape[3] // 3
        gates, new = inputs.clone(), inputs[..., 2 * dim :].clone()
        gates[..., 2 * dim :] = bias
        states = inputs.new_empty(n_steps + 1, n_directions, n_sentences, dim)
        states[0] = 0
        _compiled()[0](gates, new, states, recurrent)
        ctx.save_for_backward(gates, new, states, recurrent)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        gates, new, states, recurrent = ctx.saved_tensors
        before, dim = states[:-1], new.shape[3]
        r, z, hn = gates[..., :dim], gates[..., dim : 2 * dim], gates[..., 2 * dim :]
        by_new = (1 - z) * (1 - new * new)
        by_gate = torch.stack(
            [by_new * hn * r * (1 - r), (before - new) * z * (1 - z), by_new * r], dim=3
        )
        by_state = gradients[0].clone()
        _compiled()[1](by_state, by_gate, z, recurrent.transpose(1, 2))
        by_input = torch.cat([by_gate[..., :2, :].flatten(3), by_state * by_new], dim=3)
        by_bias = by_gate[..., 2, :].sum(dim=(0, 2))[:, None]
        flat = by_gate.flatten(3).transpose(0, 1).flatten(1, 2)  # (K, T B, 3H)
        by_recurrent = before.transpose(0, 1).flatten(1, 2).transpose(1, 2) @ flat
        return by_input, by_bias, by_recurrent


def _by_torchscript(steps: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a recurrence where this Python can; it takes some 50 ms."""
    if sys.version_info >= (3, 14):
        return steps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        compiled: Callable[..., Any] = torch.jit.script(steps)
    return compiled
