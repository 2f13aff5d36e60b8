"""The char CNN by kernels: a convolution is a sum of precomputed rows.

A filter of width w is w matrices, one for each place. The product of each with each character of
the alphabet is computed once; to convolve a word is then to add w rows at each position. Positions
that see only padding are all alike, so that a word is convolved only up to its end, and the maximum
is over the same values. A large alphabet's tables would take a gigabyte: they are made for the
characters of each call alone.

Shapes: N words, C characters, V alphabet, d char_dim, n filters of one width, F all filters.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import CharCnnConfig
from elmore.engine.parallel import workspace
from elmore.kernels.library import Array, Floats, address, kernels, row_stride
from elmore.kernels.packed import PackedMatrix, product

Ids = npt.NDArray[np.int32]

# A larger alphabet has no table of all its characters: 50 MB at the published original shape.
_MAX_TABLE_CHARACTERS = 1024
_ACTIVATIONS = {"relu": 0, "tanh": 1}


class Linear:
    """A product with a weight, and a bias: (N, in) -> (N, out)."""

    def __init__(self, arrays: Mapping[str, Array], name: str, *, bfloat16: bool) -> None:
        self.weight = PackedMatrix.of(arrays[f"{name}.weight"].T, bfloat16=bfloat16)
        self.bias = self.weight.whole_panels(arrays[f"{name}.bias"])

    def __call__(self, x: Floats, out: Floats | None = None) -> Floats:
        """Multiply and add."""
        return product(x, self.weight, bias=self.bias, out=out)


@dataclass(frozen=True)
class _Convolution:
    """The filters of one width."""

    places: tuple[PackedMatrix, ...]
    """(d, n) for each place of the filter."""
    bias: Floats
    """Filled up to a multiple of 16."""
    n: int

    def table(self, characters: Floats) -> Floats:
        """Return the products of characters with each place, (w, V, n filled up to 16s)."""
        made = np.zeros((len(self.places), len(characters), len(self.bias)), np.float32)
        for rows, place in zip(made, self.places, strict=True):
            product(characters, place, bias=place.whole_panels(np.zeros(0)), out=rows[:, : self.n])
        return made


class CharCnn:
    """Encodes words from their characters, (N, C) -> (N, F)."""

    def __init__(self, config: CharCnnConfig, arrays: Mapping[str, Array], name: str, *,
                 bfloat16: bool) -> None:  # fmt: skip
        self.activation = _ACTIVATIONS[config.activation]
        self.n_filters = config.n_filters
        self.characters = arrays[f"{name}.embedding.weight"].astype(np.float32)
        self.convolutions = []
        for number in range(len(config.filters)):
            weight = arrays[f"{name}.convolutions.{number}.weight"]  # (n, d, w)
            bias = arrays[f"{name}.convolutions.{number}.bias"].astype(np.float32)
            places = tuple(
                PackedMatrix.of(weight[:, :, k].T.astype(np.float32))
                for k in range(weight.shape[2])
            )
            padded = np.pad(bias, (0, -len(bias) % 16))
            self.convolutions.append(_Convolution(places, padded, len(bias)))
        self.highways = [
            _Highway(arrays, f"{name}.highways.{number}", bfloat16=bfloat16)
            for number in range(config.n_highway)
        ]
        is_small = len(self.characters) <= _MAX_TABLE_CHARACTERS
        self.tables = self._tables(self.characters) if is_small else None

    def __call__(self, char_ids: npt.NDArray[np.integer]) -> Floats:
        """Encode words; the next call of this thread overwrites the result."""
        n_words, width = char_ids.shape
        tables = self.tables
        if tables is None:
            distinct, char_ids = np.unique(char_ids, return_inverse=True)
            char_ids = char_ids.reshape(n_words, width)
            tables = self._tables(self.characters[distinct])
        char_ids = np.ascontiguousarray(char_ids, np.int32)
        # A row ends in a run of padding; past its start, all windows are the same.
        written = ((char_ids != char_ids[:, -1:]) * np.arange(1, width + 1)).max(axis=1, initial=0)
        stride = -(-self.n_filters // 16) * 16
        x = workspace("char_cnn", n_words * stride)[: n_words * stride].reshape(n_words, stride)
        x[:, self.n_filters :] = 0.0
        start = 0
        for table, convolution in zip(tables, self.convolutions, strict=True):
            w = len(table)
            positions = np.minimum(written + 1, width - w + 1).astype(np.int32)
            kernels().convolve(
                address(x[:, start:], np.float32), stride,
                address(char_ids, np.int32), width, address(positions, np.int32), n_words,
                address(table, np.float32), w, table.shape[1], table.shape[2], convolution.n,
                address(convolution.bias, np.float32), self.activation,
            )  # fmt: skip
            start += convolution.n
        for highway in self.highways:
            highway(x, self.n_filters)
        return x[:, : self.n_filters]

    def _tables(self, characters: Floats) -> list[Floats]:
        return [convolution.table(characters) for convolution in self.convolutions]


class _Highway:
    """s(gate) relu(transform) + (1 - s(gate)) x, in place."""

    def __init__(self, arrays: Mapping[str, Array], name: str, *, bfloat16: bool) -> None:
        self.gate = Linear(arrays, f"{name}.gate", bfloat16=bfloat16)
        self.transform = Linear(arrays, f"{name}.transform", bfloat16=bfloat16)

    def __call__(self, x: Floats, n: int) -> None:
        n_words, stride = x.shape
        gates = workspace("highway", n_words * 2 * stride)[: n_words * 2 * stride]
        gates = gates.reshape(n_words, 2, stride)
        gates[:, :, n:] = 0.0
        self.gate(x[:, :n], gates[:, 0, :n])
        self.transform(x[:, :n], gates[:, 1, :n])
        kernels().highway(
            address(x, np.float32), row_stride(x), address(gates, np.float32), n_words, n
        )
