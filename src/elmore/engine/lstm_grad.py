"""One direction's LSTM layers: forward pass and backpropagation through time, written by hand.

The equations are those of model/lstm.py; a test holds both equal. The backward pass needs only two
matrix products a step (to the cell and to the state before); the weights' are computed once for all
steps. A clip passes the gradient where it had no effect.

Everything is laid out time step by time step. Shapes: T steps, B streams, N = T B tokens, p
projection_dim, c cell_dim. Buffers are kept from batch to batch: fresh memory of this size costs
more than the arithmetic on it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from elmore.engine.matmul import Matmul
from elmore.engine.parameters import WeightGradients
from elmore.model.lstm import LstmLayer, LstmStack, LstmState

_sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
_tanh_backward = torch.ops.aten.tanh_backward.grad_input


class _LstmLayerGrad:
    """One layer, with the activations that its backward pass needs."""

    def __init__(
        self, layer: LstmLayer, products: Matmul, shape: tuple[int, int], *, zero_starts: bool
    ) -> None:
        self.layer, self.products = layer, products
        n_steps, n_streams = shape
        p, c_dim = layer.input_weight.shape[1], layer.bias.shape[0] // 4
        self.shape = (n_steps, n_streams, p, c_dim)
        new = layer.bias.detach().new_empty
        self.gates = new(n_steps, n_streams, 4 * c_dim)  # i, f, g, o
        self.c = new(n_steps + 1, n_streams, c_dim)  # [0] is the state before
        self.h = new(n_steps + 1, n_streams, p)
        # The initial state of each step: the state before it, or zero where a sentence begins.
        self.c_before, self.h_before = self.c[:-1], self.h[:-1]
        if zero_starts:
            self.c_before, self.h_before = self.c_before.clone(), self.h_before.clone()
        self.tanh_c = new(n_steps, n_streams, c_dim)
        # Without a projection the cell's output is h itself.
        self.m = new(n_steps, n_streams, c_dim) if layer.projection is not None else self.h[1:]
        self.work = new(3, n_streams, c_dim)
        self.half = new(()).fill_(0.5)

    def forward(self, x: Tensor, h: Tensor, c: Tensor, starts: list[Tensor]) -> Tensor:
        """Read x (N, p) from the state h (B, p), c (B, c); return all h (N, p).

        `starts` are the streams that start from the zero state at each step; an empty list: none.
        """
        self.starts = starts
        p, c_dim = self.shape[2:]
        layer, products = self.layer, self.products
        self.x = x
        self.h[0], self.c[0] = h, c
        # tanh(x) is 2 sigmoid(2x) - 1, which torch has faster: the candidate's weights are doubled.
        bias = layer.bias.detach().clone()
        bias[c_dim : 2 * c_dim] += layer.forget_bias
        bias[2 * c_dim : 3 * c_dim] *= 2
        gates = self.gates.view(-1, 4 * c_dim)
        products.write_to(gates, x, self._transposed(layer.input_weight))
        gates += bias
        recurrent = self._transposed(layer.recurrent_weight)
        projection = layer.projection
        if projection is not None:
            projected = products.operand(projection.detach().T.contiguous())
        for t, (i, f, g, o) in enumerate(self._columns()):
            z, tanh_c, m = self.gates[t], self.tanh_c[t], self.m[t]
            c_before, h_before = self.c_before[t], self.h_before[t]
            c_t, h_t = self.c[t + 1], self.h[t + 1]
            if starts:
                c_before.copy_(self.c[t]).index_fill_(0, starts[t], 0.0)
                h_before.copy_(self.h[t]).index_fill_(0, starts[t], 0.0)
            products.add_to(z, h_before, recurrent).sigmoid_()
            g.sub_(self.half).mul_(2)
            torch.mul(f, c_before, out=c_t).addcmul_(i, g)
            if layer.cell_clip is not None:
                c_t.clamp_(-layer.cell_clip, layer.cell_clip)
            torch.add(c_t, c_t, out=tanh_c).sigmoid_().sub_(self.half).mul_(2)
            torch.mul(o, tanh_c, out=m)
            if projection is not None:
                products.write_to(h_t, m, projected)
                if layer.projection_clip is not None:
                    h_t.clamp_(-layer.projection_clip, layer.projection_clip)
        return self.h[1:].view(-1, p)

    def backward(self, dy: Tensor, gradients: WeightGradients) -> Tensor:
        """Take the gradient of all h (N, p), which is overwritten; return that of x (N, p)."""
        n_steps, n_streams, p, c_dim = self.shape
        layer, products = self.layer, self.products
        recurrent = products.operand(layer.recurrent_weight.detach())
        projection = layer.projection
        if projection is not None:
            projected = products.operand(projection.detach())
        cell_clip = _if_clipped(layer.cell_clip, self.c[1:])
        projection_clip = _if_clipped(layer.projection_clip if projection is not None else None,
                                       self.h[1:])  # fmt: skip
        dys = dy.view(n_steps, n_streams, p)
        dh = dy.new_zeros(n_streams, p)
        dc, work, dm_buffer = self.work
        dc.zero_()
        columns = self._columns()
        for t in reversed(range(n_steps)):
            i, f, g, o = columns[t]
            dh_t = dys[t].add_(dh)
            if projection_clip is not None:
                dh_t.masked_fill_(self.h[t + 1].abs() >= projection_clip, 0.0)
            dm = dh_t if projection is None else products.write_to(dm_buffer, dh_t, projected)
            # c_t has a gradient from m_t and from c_(t+1); m = o tanh(c)
            torch.mul(dm, o, out=work)
            dc += _tanh_backward(work, self.tanh_c[t], grad_input=work)
            if cell_clip is not None:
                dc.masked_fill_(self.c[t + 1].abs() >= cell_clip, 0.0)
            torch.mul(dm, self.tanh_c[t], out=work)
            _sigmoid_backward(work, o, grad_input=o)
            # c_t = f c_(t-1) + i g; each gate is overwritten by the gradient of its input
            torch.mul(dc, g, out=work)
            torch.mul(dc, i, out=dm_buffer)
            _tanh_backward(dm_buffer, g, grad_input=g)
            _sigmoid_backward(work, i, grad_input=i)
            torch.mul(dc, self.c_before[t], out=work)
            dc *= f
            _sigmoid_backward(work, f, grad_input=f)
            products.write_to(dh, self.gates[t], recurrent)
            if self.starts:
                dc.index_fill_(0, self.starts[t], 0.0)
                dh.index_fill_(0, self.starts[t], 0.0)
        dgates = self.gates.view(-1, 4 * c_dim)
        _add_product(gradients.of(layer.input_weight), products, dgates, self.x)
        _add_product(
            gradients.of(layer.recurrent_weight), products, dgates, self.h_before.view(-1, p)
        )
        bias = gradients.of(layer.bias)
        if bias is not None:
            bias += dgates.sum(dim=0)
        if projection is not None:
            _add_product(gradients.of(projection), products, dy, self.m.view(-1, c_dim))
        dx = torch.empty_like(self.x)
        return products.write_to(dx, dgates, products.operand(layer.input_weight.detach()))

    def _transposed(self, weight: Tensor) -> Tensor:
        """Return a weight (4c, p) as (p, 4c), with the candidate's columns doubled."""
        c_dim = self.shape[3]
        turned = weight.detach().T.contiguous()
        turned[:, 2 * c_dim : 3 * c_dim] *= 2
        return self.products.operand(turned)

    def _columns(self) -> list[tuple[Tensor, ...]]:
        """Return the gates i, f, g, o of each step, each (B, c)."""
        return [z.chunk(4, dim=1) for z in self.gates]


class LstmStackGrad:
    """All layers of one direction, with dropout on the input of each and the output of the last."""

    def __init__(
        self,
        stack: LstmStack,
        products: Matmul,
        shape: tuple[int, int],
        *,
        zero_starts: bool = False,
    ) -> None:
        """Take the steps and streams of a window, and whether streams may start from zero."""
        self.config = stack.config
        self.layers = [
            _LstmLayerGrad(layer, products, shape, zero_starts=zero_starts)
            for layer in stack.layers
            if isinstance(layer, LstmLayer)
        ]

    def forward(
        self, x: Tensor, masks: list[Tensor], state: LstmState, starts: list[Tensor]
    ) -> Tensor:
        """Read token vectors x (N, p); return the input of the softmax (N, p).

        `masks` are the dropout masks (N, p): one for each layer's input and one for the output; an
        empty list is no dropout. `starts` are, for each step, the streams that start from the zero
        state there; an empty list: none.
        """
        self.masks = masks
        self.outputs: list[Tensor] = []  # of each layer
        for depth, layer in enumerate(self.layers):
            x = self._drop(x, depth)
            y = layer.forward(x, state.h[depth], state.c[depth], starts)
            # The skip connection adds the layer's input after dropout, as published.
            x = x + y if self._skips(depth) else y
            self.outputs.append(x)
        return self._drop(x, len(self.layers))

    def backward(
        self,
        dy: Tensor,
        gradients: WeightGradients,
        *,
        dlower: Sequence[Tensor] = (),
        lowest: int = 0,
    ) -> Tensor:
        """Take the gradient of the output (N, p); return that of the token vectors (N, p).

        `dlower` are the gradients that the outputs of the layers below the last have on their own
        account. With `lowest`, the layers below that one are left out: what is returned is the
        gradient of its input.
        """
        dy = self._drop(dy, len(self.layers))
        for depth in reversed(range(lowest, len(self.layers))):
            if dlower and depth < len(self.layers) - 1:
                dy = dy + dlower[depth]
            skipped = dy.clone() if self._skips(depth) else None
            dx = self.layers[depth].backward(dy.contiguous(), gradients)
            if skipped is not None:
                dx += skipped
            dy = self._drop(dx, depth)
        return dy

    def state(self) -> LstmState:
        """Return a copy of the state after the last step."""
        return LstmState(
            torch.stack([layer.h[-1] for layer in self.layers]),
            torch.stack([layer.c[-1] for layer in self.layers]),
        )

    def _skips(self, depth: int) -> bool:
        return self.config.skip_connections and depth > 0

    def _drop(self, x: Tensor, depth: int) -> Tensor:
        return x * self.masks[depth] if self.masks else x


def _if_clipped(clip: float | None, values: Tensor) -> float | None:
    """Return the clip if any value reached it: mostly none did, and no mask is needed."""
    if clip is None:
        return None
    lowest, highest = values.aminmax()
    return clip if bool(torch.maximum(-lowest, highest) >= clip) else None  # in their precision


def _add_product(gradient: Tensor | None, products: Matmul, dy: Tensor, x: Tensor) -> None:
    """Add dy^T x to a weight's gradient, if it learns."""
    if gradient is not None:
        products.add_to(gradient, dy.T, products.operand(x))
