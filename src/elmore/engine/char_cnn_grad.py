"""Forward and backward pass of the char CNN in training.

The distinct words of a batch are encoded once each. The convolution is a sum of table rows, as in
fast_char_cnn.py. Max-pooling keeps one position of each filter, so only that one has a gradient: it
is added to the table rows that were looked up there, and passes through the tables to the filters
and the character embeddings. A large alphabet's tables would take a gigabyte, so they have the
characters of the batch alone.

Shapes: W words, C characters, d char_dim, n filters of one width w, F all filters.
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmore.engine.matmul import Matmul
from elmore.engine.parameters import WeightGradients
from elmore.engine.threads import TwoThreads
from elmore.model.char_cnn import CharCnn, Highway

_MAX_POSITIONS = 1024  # positions convolved at once: 4 MB for 1,024 filters


class CharCnnGrad:
    """A character CNN with its gradients."""

    def __init__(self, cnn: CharCnn, products: Matmul, threads: TwoThreads) -> None:
        self.cnn, self.products, self.threads = cnn, products, threads
        self.highways = [layer for layer in cnn.highways if isinstance(layer, Highway)]
        self.convolutions = [layer for layer in cnn.convolutions if isinstance(layer, nn.Conv1d)]

    def forward(self, char_ids: Tensor) -> Tensor:
        """Encode words, (W, C) -> (W, F)."""
        n_words = len(char_ids)
        filters = [convolution.out_channels for convolution in self.convolutions]
        # Words of similar length are convolved together.
        width = char_ids.shape[1]
        places = torch.arange(1, width + 1, device=char_ids.device)
        lengths = ((char_ids != char_ids[:, -1:]) * places).amax(dim=1) + 1
        self.order = lengths.argsort(stable=True)
        # the characters of these words, and the place among them of each
        self.characters, places = torch.unique(char_ids[self.order], return_inverse=True)
        self.char_ids = places
        new = self.cnn.embedding.weight.detach().new_empty
        self.highest = [torch.empty(n_words, n, dtype=torch.int64, device=char_ids.device)
                        for n in filters]  # fmt: skip
        self.layers = [new(n_words, sum(filters)) for _ in range(len(self.highways) + 1)]
        self.gates = [torch.empty_like(self.layers[0]) for _ in self.highways]
        self.relus = [torch.empty_like(self.layers[0]) for _ in self.highways]
        characters = self.cnn.embedding.weight.detach()[self.characters]
        tables = [_table(characters, layer) for layer in self.convolutions]
        runs = _runs(lengths[self.order].tolist())
        operands = self._operands()
        middle = n_words // 2
        self.threads.all([partial(self._convolve, tables, *run) for run in runs])
        self.threads.all(
            [
                partial(self._read, operands, some)
                for some in (slice(0, middle), slice(middle, n_words))
            ]
        )
        features = self.layers[-1]
        return torch.empty_like(features).index_copy_(0, self.order, features)

    def backward(self, dfeatures: Tensor, gradients: WeightGradients) -> None:
        """Add the gradients of all weights, given that of the features (W, F)."""
        dy = dfeatures[self.order]
        for depth in reversed(range(len(self.highways))):
            dy = self._highway_backward(depth, dy, gradients)
        x = self.layers[0]
        dx = dy.mul_(x > 0) if self.cnn.activation == "relu" else dy.mul_(1 - x * x)
        parts = dx.split_with_sizes([layer.out_channels for layer in self.convolutions], dim=1)
        dtables: list[Tensor] = [torch.empty(0)] * len(parts)

        def scatter(number: int) -> None:
            dtables[number] = self._dtable(number, parts[number])

        self.threads.all([partial(scatter, k) for k in reversed(range(len(parts)))])
        characters = self.cnn.embedding.weight.detach()[self.characters]
        dcharacters = gradients.of(self.cnn.embedding.weight)
        for layer, dtable, dpart in zip(self.convolutions, dtables, parts, strict=True):
            assert layer.bias is not None
            weight, bias = gradients.of(layer.weight), gradients.of(layer.bias)
            if weight is not None:
                weight += torch.einsum("knv,vd->ndk", dtable, characters)
            if bias is not None:
                bias += dpart.sum(dim=0)
            if dcharacters is not None:
                found = torch.einsum("knv,ndk->vd", dtable, layer.weight.detach())
                dcharacters.index_add_(0, self.characters, found)

    def _operands(self) -> dict[int, Tensor]:
        linears = [linear for layer in self.highways for linear in (layer.gate, layer.transform)]
        return {id(linear): self.products.operand(linear.weight.detach().T) for linear in linears}

    def _convolve(self, tables: list[Tensor], start: int, stop: int, n_positions: int) -> None:
        """Convolve and max-pool some words; store the argmax positions."""
        x = self.layers[0]
        n_characters = len(self.characters)
        char_ids = self.char_ids[start:stop]
        column = 0
        for number, (table, layer) in enumerate(zip(tables, self.convolutions, strict=True)):
            w, n = layer.kernel_size[0], layer.out_channels
            taps = torch.arange(w, device=char_ids.device) * n_characters
            # position-major, so that the positions of a word are whole rows apart
            windows = char_ids.unfold(1, w, 1)[:, :n_positions].transpose(0, 1) + taps
            sums = F.embedding_bag(windows.reshape(-1, w), table, mode="sum")
            by_position = sums.view(-1, stop - start, n)
            assert layer.bias is not None
            best, at = _highest(by_position)
            x[start:stop, column : column + n] = best.add_(layer.bias.detach())
            self.highest[number][start:stop] = at
            column += n

    def _read(self, operands: dict[int, Tensor], some: slice) -> None:
        """Pass some words through the highways."""
        x = self.layers[0][some]
        _ = x.relu_() if self.cnn.activation == "relu" else x.tanh_()
        for depth, highway in enumerate(self.highways):
            g = self._affine(highway.gate, operands, x, self.gates[depth][some]).sigmoid_()
            r = self._affine(highway.transform, operands, x, self.relus[depth][some]).relu_()
            # g relu + (1 - g) x
            x = torch.sub(r, x, out=self.layers[depth + 1][some]).mul_(g).add_(x)

    def _affine(
        self, linear: nn.Linear, operands: dict[int, Tensor], x: Tensor, out: Tensor
    ) -> Tensor:
        return self.products.write_to(out, x, operands[id(linear)]).add_(linear.bias.detach())

    def _highway_backward(self, depth: int, dy: Tensor, gradients: WeightGradients) -> Tensor:
        """Take the gradient of a highway's output (W, F), overwriting it; return its input's."""
        highway, x = self.highways[depth], self.layers[depth]
        g, r = self.gates[depth], self.relus[depth]
        middle = len(x) // 2
        halves = [slice(0, middle), slice(middle, len(x))]
        dgate, dtransform, dx = (torch.empty_like(x) for _ in range(3))
        gate = self.products.operand(highway.gate.weight.detach())
        transform = self.products.operand(highway.transform.weight.detach())

        def by_words(half: int) -> None:
            some = halves[half]
            sigmoid_backward = torch.ops.aten.sigmoid_backward.grad_input
            dg = torch.sub(r[some], x[some], out=dgate[some]).mul_(dy[some])
            sigmoid_backward(dg, g[some], grad_input=dg)
            torch.mul(dy[some], g[some], out=dtransform[some]).mul_(r[some] > 0)
            torch.sub(dy[some], dy[some] * g[some], out=dx[some])
            self.products.add_to(dx[some], dg, gate)
            self.products.add_to(dx[some], dtransform[some], transform)

        self.threads.both(by_words)
        self.threads.all([
            partial(add_weight_gradient, highway.gate, x, dgate, gradients, self.products),
            partial(
                add_weight_gradient, highway.transform, x, dtransform, gradients, self.products
            ),
        ])  # fmt: skip
        return dx

    def _dtable(self, number: int, dx: Tensor) -> Tensor:
        """Return the gradient (w, n, characters) of the table, from dx (W, n)."""
        layer, at = self.convolutions[number], self.highest[number]
        w, n = layer.kernel_size[0], layer.out_channels
        dtable = dx.new_zeros(w, n, len(self.characters))
        turned = dx.T.contiguous()
        for place in range(w):
            characters = self.char_ids.gather(1, at + place).T.contiguous()
            dtable[place].scatter_add_(1, characters, turned)
        return dtable


def add_weight_gradient(
    linear: nn.Linear, x: Tensor, dy: Tensor, gradients: WeightGradients, products: Matmul
) -> None:
    """Add the gradients of a linear layer's weight and bias, given its input and output's."""
    weight, bias = gradients.of(linear.weight), gradients.of(linear.bias)
    if weight is not None:
        products.add_to(weight, dy.T, products.operand(x))
    if bias is not None:
        bias += dy.sum(dim=0)


def _table(characters: Tensor, convolution: nn.Conv1d) -> Tensor:
    """Return each character's product with each position of the filters, (w * characters, n)."""
    places = convolution.weight.detach().unbind(2)  # (n, d) each
    return torch.cat([characters @ place.T for place in places])


def _highest(sums: Tensor) -> tuple[Tensor, Tensor]:
    """Return the maximum of sums (positions, W, n) over positions, and its position, (W, n)."""
    best = sums.amax(dim=0)
    # torch's max with indices is not vectorized: (is it the maximum) times its position is
    at = torch.zeros_like(best)
    equal = torch.empty_like(best)
    for position, some in enumerate(sums[1:], start=1):
        torch.maximum(at, torch.eq(some, best, out=equal).mul_(position), out=at)
    return best, at.long()


def _runs(lengths: list[int]) -> list[tuple[int, int, int]]:
    """Return (start, stop, positions) of runs of words, shortest first, convolved at once."""
    runs = []
    start = 0
    for stop in range(1, len(lengths) + 1):
        is_last = stop == len(lengths)
        if is_last or (stop + 1 - start) * lengths[stop] > _MAX_POSITIONS:
            runs.append((start, stop, lengths[stop - 1]))
            start = stop
    return runs
