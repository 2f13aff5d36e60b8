"""The char CNN in training: characters in, one vector per word out, and back.

A convolution is a sum of table rows, one for each place of the filter. Max-pooling keeps one place
of each filter, so only that one has a gradient: it is added to the table rows that were looked up
there, and passes through the tables to the filters and the characters' vectors.

Shapes: W words, C characters of a word, V characters in all, d char_dim, n filters of one width w,
F all filters, S the same rounded up to a multiple of 16.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from elmore.engine.parallel import Job, run_all
from elmore.engine.training.linear import LinearTraining, slices
from elmore.kernels.gradients import add_transposed_product, empty_packed, pack
from elmore.kernels.library import Floats, address, kernels
from elmore.kernels.packed import product

_ACTIVATIONS = {"relu": 0, "tanh": 1}


class CharCnnTraining:
    """Embedding, convolutions and highways with their gradients; not the projection."""

    def __init__(
        self,
        arrays: Mapping[str, Floats],
        name: str,
        *,
        activation: str,
        bfloat16: bool = False,
    ) -> None:
        self.name, self.activation = name, _ACTIVATIONS[activation]
        self.characters = arrays[f"{name}.embedding.weight"]
        self.convolutions = [
            _Convolution(arrays, f"{name}.convolutions.{k}")
            for k in range(_count(arrays, f"{name}.convolutions."))
        ]
        self.n_filters = sum(convolution.n for convolution in self.convolutions)
        self.stride = -(-self.n_filters // 16) * 16
        self.highways = [
            _Highway(arrays, f"{name}.highways.{k}", bfloat16=bfloat16)
            for k in range(_count(arrays, f"{name}.highways."))
        ]

    def pack_jobs(self) -> list[Job]:
        """Return jobs that pack all weights."""
        return [
            *(partial(layer.make_table, self.characters) for layer in self.convolutions),
            *(
                job
                for highway in self.highways
                for job in (highway.gate.pack, highway.transform.pack)
            ),
        ]

    def forward(self, char_ids: npt.NDArray[np.int32]) -> Floats:
        """Encode words (W, C) -> (W, F); all is kept for the backward pass."""
        n_words, width = char_ids.shape
        assert not char_ids.size or char_ids.min() >= 0
        assert not char_ids.size or char_ids.max() < len(self.characters)
        self.char_ids = np.ascontiguousarray(char_ids, np.int32)
        # A row ends in a run of padding; past its start, all windows are the same.
        written = ((char_ids != char_ids[:, -1:]) * np.arange(1, width + 1)).max(axis=1, initial=0)
        n_layers = len(self.highways) + 1
        self.layers = [np.zeros((n_words, self.stride), np.float32) for _ in range(n_layers)]
        self.gates = [np.zeros((n_words, 2, self.stride), np.float32) for _ in self.highways]
        self.at = np.empty((n_words, self.stride), np.float32)
        run_all([partial(self._read, written, some) for some in slices(n_words)])
        return self.layers[-1][:, : self.n_filters]

    def backward(self, dvectors: Floats, gradients: Mapping[str, Floats]) -> None:
        """Add the gradients of all weights that learn, given that of the vectors (W, F)."""
        n_words = len(dvectors)
        dy = np.zeros((n_words, self.stride), np.float32)
        dy[:, : self.n_filters] = dvectors
        for highway, x, gates in zip(
            reversed(self.highways), reversed(self.layers[:-1]), reversed(self.gates), strict=True
        ):
            dx, dgates = np.zeros_like(dy), np.zeros_like(gates)
            n = self.n_filters
            run_all([partial(highway.backward, dy, x, gates, dx=dx, dgates=dgates, some=some)
                     for some in slices(n_words)])  # fmt: skip
            run_all([
                *highway.gate.weight_jobs(x[:, :n], dgates[:, 0, :n], gradients),
                *highway.transform.weight_jobs(x[:, :n], dgates[:, 1, :n], gradients),
            ])  # fmt: skip
            dy = dx
        jobs = [partial(self._convolve_back, layer, start, dy, gradients)
                for start, layer in self._columns()]  # fmt: skip
        run_all(jobs[::-1])
        dcharacters = gradients.get(f"{self.name}.embedding.weight")
        if dcharacters is not None:
            for layer in self.convolutions:
                layer.add_characters_gradient(dcharacters)

    def _columns(self) -> list[tuple[int, "_Convolution"]]:
        """Return the convolutions, with the first column of each."""
        ends = np.cumsum([layer.n for layer in self.convolutions]).tolist()
        return list(zip([0, *ends], self.convolutions, strict=False))

    def _read(self, written: npt.NDArray[np.int64], some: slice) -> None:
        """Pass some words through all layers."""
        x, at, ids = self.layers[0][some], self.at[some], self.char_ids[some]
        for start, layer in self._columns():
            last = ids.shape[1] - layer.width + 1
            positions = np.minimum(written[some] + 1, last).astype(np.int32)
            kernels().convolve_kept(
                address(x[:, start:], np.float32), address(at[:, start:], np.float32), self.stride,
                address(ids, np.int32), ids.shape[1],
                address(positions, np.int32), len(ids),
                address(layer.table, np.float32), *layer.table.shape, layer.n,
                address(layer.padded_bias, np.float32), self.activation,
            )  # fmt: skip
        for depth, highway in enumerate(self.highways):
            self.layers[depth + 1][some] = self.layers[depth][some]
            highway.forward(self.layers[depth + 1][some], self.gates[depth][some], self.n_filters)

    def _convolve_back(
        self, layer: "_Convolution", start: int, dy: Floats, gradients: Mapping[str, Floats]
    ) -> None:
        layer.dtable[:] = 0.0
        bias = gradients.get(f"{layer.name}.bias")
        bias = np.zeros_like(layer.bias) if bias is None else bias
        kernels().convolve_back(
            address(layer.dtable, np.float32), address(bias, np.float32),
            address(dy[:, start:], np.float32), address(self.layers[0][:, start:], np.float32),
            address(self.at[:, start:], np.float32), self.stride,
            address(self.char_ids, np.int32), self.char_ids.shape[1], len(dy),
            *layer.table.shape, layer.n, self.activation,
        )  # fmt: skip
        weight = gradients.get(f"{layer.name}.weight")
        if weight is not None:
            layer.add_weight_gradient(weight, self.characters)


class _Convolution:
    """The filters of one width."""

    def __init__(self, arrays: Mapping[str, Floats], name: str) -> None:
        self.name = name
        self.weight, self.bias = arrays[f"{name}.weight"], arrays[f"{name}.bias"]  # (n, d, w), (n,)
        self.n, self.char_dim, self.width = self.weight.shape
        self.n_table = -(-self.n // 16) * 16

    def make_table(self, characters: Floats) -> None:
        """Make each character's product with each place of the filters, (w, V, n)."""
        self.table = np.zeros((self.width, len(characters), self.n_table), np.float32)
        self.dtable = np.empty_like(self.table)
        self.padded_bias = np.zeros(self.n_table, np.float32)
        self.padded_bias[: self.n] = self.bias
        packed = empty_packed(self.char_dim, self.n)
        zeros = packed.whole_panels(np.zeros(self.n, np.float32))
        for k in range(self.width):
            pack(packed, np.ascontiguousarray(self.weight[:, :, k]), transposed=True)
            product(characters, packed, bias=zeros, out=self.table[k, :, : self.n])

    def add_weight_gradient(self, dweight: Floats, characters: Floats) -> None:
        """Add the gradient of the filters, given the table's."""
        for k in range(self.width):
            found = np.zeros((self.n, self.char_dim), np.float32)
            add_transposed_product(found, self.dtable[k, :, : self.n], characters)
            dweight[:, :, k] += found

    def add_characters_gradient(self, dcharacters: Floats) -> None:
        """Add the gradient of the characters' vectors, given the table's."""
        packed = empty_packed(self.n, self.char_dim)
        for k in range(self.width):
            pack(packed, np.ascontiguousarray(self.weight[:, :, k]))
            product(self.dtable[k, :, : self.n], packed, bias=None, out=dcharacters)


class _Highway:
    """s(gate) relu(transform) + (1 - s(gate)) x."""

    def __init__(self, arrays: Mapping[str, Floats], name: str, *, bfloat16: bool) -> None:
        self.gate = LinearTraining(arrays, f"{name}.gate", bfloat16=bfloat16)
        self.transform = LinearTraining(arrays, f"{name}.transform", bfloat16=bfloat16)

    def forward(self, x: Floats, gates: Floats, n: int) -> None:
        """Change x (W, S) in its place; fill gates (W, 2, S), which the backward pass takes."""
        self.gate.forward(x[:, :n], gates[:, 0, :n])
        self.transform.forward(x[:, :n], gates[:, 1, :n])
        kernels().highway(address(x, np.float32), x.shape[1], address(gates, np.float32), len(x), n)

    def backward(
        self, dy: Floats, x: Floats, gates: Floats, *, dx: Floats, dgates: Floats, some: slice
    ) -> None:
        """Write the gradients of some words: of the input, and of what the gates are made from."""
        n = self.gate.weight.shape[1]
        kernels().highway_back(
            address(dgates[some], np.float32), address(dx[some], np.float32),
            address(dy[some], np.float32), address(x[some], np.float32),
            address(gates[some], np.float32), dy.shape[1], len(dy[some]), n,
        )  # fmt: skip
        self.gate.backward(dgates[some, 0, :n], dx[some, :n], add=True)
        self.transform.backward(dgates[some, 1, :n], dx[some, :n], add=True)


def _count(arrays: Mapping[str, Floats], prefix: str) -> int:
    """Return how many layers have names that begin so."""
    return len(
        {name.removeprefix(prefix).split(".")[0] for name in arrays if name.startswith(prefix)}
    )
