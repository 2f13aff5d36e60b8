"""The char CNN by table lookup: convolution as a sum of precomputed rows.

A filter of width w is w matrices, one for each position. The product of each with every character
of the alphabet is computed once; to convolve a word is then to look up w rows at each position and
add them. Positions that see only padding give one constant, so each word is convolved only up to
its end, and the maximum is over the same values. A large alphabet's tables would take a gigabyte,
so they are made for the characters of each call alone.

The matrix products are computed for a fixed number of words at a time, the last of them
padded with zeros. A product of another shape may round differently, so this makes a word's vector
the same to the last bit whatever words are encoded with it (at the published shapes; rows of a few
values, such as 6, round by their alignment in memory).

Shapes: N words, C characters, d char_dim, n filters of one width, F all filters.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from elmore.engine.matmul import Matmul
from elmore.model.char_cnn import CharCnn, Highway

# Positions convolved at once: 8 MB for the widest published filter.
_MAX_POSITIONS = 2048
# Words in a matrix product. More would be slightly faster in bulk, fewer for a single new word.
PRODUCT_WORDS = 64
# A larger alphabet has no table of all its characters: 50 MB at the published original shape.
_MAX_TABLE_CHARACTERS = 1024
# Characters in a matrix product, for the reason that words have such a number.
_PRODUCT_CHARACTERS = 64


class FastLinear:
    """A linear layer, (N, in) -> (N, out)."""

    def __init__(self, linear: torch.nn.Linear, products: Matmul) -> None:
        self.products = products
        self.weight = products.operand(linear.weight.detach().T)
        self.bias = linear.bias.detach()

    def __call__(self, x: Tensor) -> Tensor:
        """Multiply by the weight and add the bias."""
        return self.products.affine(self.bias, x, self.weight)


class TableCnn:
    """The same vectors as a `CharCnn`, several times as fast."""

    def __init__(self, cnn: CharCnn, products: Matmul) -> None:
        self.activation = cnn.activation
        self.highways = [
            (FastLinear(highway.gate, products), FastLinear(highway.transform, products))
            for highway in cnn.highways
            if isinstance(highway, Highway)
        ]
        self.characters = cnn.embedding.weight.detach()  # (characters, d)
        self.weights: list[Tensor] = []  # (n, d, w) each
        self.biases: list[Tensor] = []
        for convolution in cnn.convolutions:
            assert isinstance(convolution, torch.nn.Conv1d)
            assert convolution.bias is not None
            self.weights.append(convolution.weight.detach())
            self.biases.append(convolution.bias.detach())
        is_small = len(self.characters) <= _MAX_TABLE_CHARACTERS
        self.tables = self._tables([self.characters]) if is_small else None

    @torch.no_grad()
    def __call__(self, char_ids: Tensor) -> Tensor:
        """Encode words, (N, C) -> (N, F)."""
        n_words, width = char_ids.shape
        tables = self.tables
        if tables is None:
            distinct, char_ids = torch.unique(char_ids, return_inverse=True)
            n_missing = -len(distinct) % _PRODUCT_CHARACTERS
            characters = F.pad(self.characters[distinct], (0, 0, 0, n_missing))
            starts = range(0, len(characters), _PRODUCT_CHARACTERS)
            tables = self._tables([characters[i : i + _PRODUCT_CHARACTERS] for i in starts])
        # A row ends in a run of padding; past its start, all windows are the same.
        places = torch.arange(1, width + 1)
        written = ((char_ids != char_ids[:, -1:]) * places).amax(dim=1)
        order = written.argsort(stable=True)
        lengths = written[order].tolist()
        n_rows = -(-n_words // PRODUCT_WORDS) * PRODUCT_WORDS
        x = torch.zeros(n_rows, sum(map(len, self.biases)), dtype=torch.float32)
        start = 0
        while start < n_words:
            # As many words as fit, all convolved up to the end of the longest.
            stop = start + 1
            while stop < n_words and (stop + 1 - start) * (lengths[stop] + 1) <= _MAX_POSITIONS:
                stop += 1
            some = order[start:stop]
            x[some] = self._convolve(tables, char_ids[some], lengths[stop - 1] + 1)
            start = stop
        x = x.relu_() if self.activation == "relu" else x.tanh_()
        starts = range(0, n_rows, PRODUCT_WORDS)
        for start in starts if self.highways else ():
            words = x[start : start + PRODUCT_WORDS]
            words.copy_(self._highways(words))
        return x[:n_words]

    def _highways(self, x: Tensor) -> Tensor:
        """Pass maxima through the highways, (N, F) -> (N, F)."""
        for gate, transform in self.highways:
            g = gate(x).sigmoid_()
            x = (
                transform(x).relu_().mul_(g).add_(g.neg_().add_(1).mul_(x))
            )  # g * relu + (1 - g) * x
        return x

    def _tables(self, blocks: list[Tensor]) -> list[Tensor]:
        """Return the products of characters, in blocks, with each position of the filters.

        A table is (w * characters, n).
        """
        return [
            torch.cat([block @ place.T for place in weight.unbind(2) for block in blocks])
            for weight in self.weights
        ]

    def _convolve(self, tables: list[Tensor], char_ids: Tensor, n_positions: int) -> Tensor:
        """Return the maxima (N, F) over the first positions."""
        maxima = []
        for table, weight, bias in zip(tables, self.weights, self.biases, strict=True):
            w = weight.shape[2]
            windows = char_ids.unfold(1, w, 1)[:, :n_positions]  # (N, positions, w)
            rows = (windows + torch.arange(w) * (len(table) // w)).reshape(-1, w)
            sums = F.embedding_bag(rows, table, mode="sum")
            maxima.append(sums.view(len(char_ids), -1, len(bias)).amax(dim=1) + bias)
        return torch.cat(maxima, dim=1)
