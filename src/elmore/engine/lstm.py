"""The LSTM layers of both directions by kernels, for many sentences at once.

Sentences stand longest first, time step after time step: the batch shrinks as sentences end, and no
padding is computed. Each direction is a job, in groups of sentences whose state stays in the cache.
The first layer's input is multiplied once for each distinct word where words recur.

Shapes: W distinct words, B sentences, N tokens, T steps, L layers, p projection_dim, c cell_dim.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import LstmConfig
from elmore.engine.parallel import Job, n_threads, workspace
from elmore.kernels.library import Array, Floats, address, kernels, row_stride
from elmore.kernels.packed import PackedMatrix, PackedStruct, product

Rows = npt.NDArray[np.int32]

_UNITS = 16  # of one block of gates: i, f, g and o of so many units
_INPUT_ROWS = 96  # tokens whose input is multiplied at once: the gates of these stay in the cache
_MAX_GROUP, _MIN_GROUP = 96, 8  # sentences that are read together
_MAX_WORD_GATES = 2**24  # numbers: 64 MB


class _LayerStruct(ctypes.Structure):
    """`LstmLayer` of lstm.h."""

    _fields_ = (
        ("n_steps", ctypes.c_int64),
        ("sizes", ctypes.c_void_p),
        ("x", ctypes.c_void_p),
        ("x_stride", ctypes.c_int64),
        ("x_rows", ctypes.c_void_p),
        ("gates", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("out_stride", ctypes.c_int64),
        ("out_rows", ctypes.c_void_p),
        ("skip", ctypes.c_int64),
        ("cell_dim", ctypes.c_int64),
        ("input", PackedStruct),
        ("recurrent", PackedStruct),
        ("projection", PackedStruct),
        ("bias", ctypes.c_void_p),
        ("zeros", ctypes.c_void_p),
        ("cell_clip", ctypes.c_float),
        ("projection_clip", ctypes.c_float),
        ("h", ctypes.c_void_p),
        ("c", ctypes.c_void_p),
        ("cells", ctypes.c_void_p),
        ("work", ctypes.c_void_p),
        ("work_rows", ctypes.c_int64),
    )


@dataclass(frozen=True)
class LstmState:
    """The state of one direction after a token."""

    h: Floats
    """The output, (L, B, p)."""
    c: Floats
    """The cell state, (L, B, c)."""


@dataclass(frozen=True)
class Group:
    """Some sentences of a batch, longest first, whose tokens stand one after the other."""

    sentences: slice
    """Which of the batch."""
    sizes: npt.NDArray[np.int64]
    """(T,) how many of them have a token at each step."""
    orders: tuple[Rows, Rows]
    """For each direction the batch's token at each packed position: all first, all second, …"""


def groups(lengths: Array) -> list[Group]:
    """Return sentences, longest first, in groups: enough for all threads, small for the cache."""
    n_groups_wanted = max(1, n_threads() // 2)
    size = -(-len(lengths) // n_groups_wanted)
    size = min(_MAX_GROUP, max(_MIN_GROUP, size))
    firsts = np.cumsum(lengths) - lengths
    return [
        _group(slice(start, start + size), lengths[start : start + size], firsts[start])
        for start in range(0, len(lengths), size)
    ]


def _group(sentences: slice, lengths: Array, first_token: int) -> Group:
    if len(lengths) == 1:  # the short way to the same
        order = np.arange(first_token, first_token + lengths[0], dtype=np.int32)
        backward = np.ascontiguousarray(order[::-1])
        return Group(sentences, np.ones(lengths[0], np.int64), (order, backward))
    firsts = first_token + np.cumsum(lengths) - lengths
    step, row = np.nonzero(np.arange(lengths[0])[:, None] < lengths)
    sizes = np.bincount(step).astype(np.int64)
    forward = (firsts[row] + step).astype(np.int32)
    backward = (firsts[row] + lengths[row] - 1 - step).astype(np.int32)
    return Group(sentences, sizes, (forward, backward))


class Layer:
    """The weights of one layer of one direction."""

    def __init__(
        self, config: LstmConfig, arrays: Mapping[str, Array], name: str, *, bfloat16: bool
    ) -> None:
        c = config.cell_dim
        n_gates = -(-c // _UNITS) * _UNITS * 4
        bias = arrays[f"{name}.bias"].astype(np.float32)
        bias[c : 2 * c] += np.float32(config.forget_bias)
        self.bias = np.ascontiguousarray(_by_units(bias[:, None])[..., 0, :].reshape(-1))

        def packed(weight: Array) -> PackedMatrix:
            return PackedMatrix.of_panels(_by_units(weight), n_gates, bfloat16=bfloat16)

        self.input = packed(arrays[f"{name}.input_weight"])
        self.recurrent = packed(arrays[f"{name}.recurrent_weight"])
        projection = arrays.get(f"{name}.projection")
        self.projection = (
            None if projection is None else PackedMatrix.of(projection.T, bfloat16=bfloat16)
        )
        self.zeros = self.projection.whole_panels(np.zeros(0)) if self.projection else None
        self.struct = _LayerStruct(
            cell_dim=c,
            input=self.input.struct,
            recurrent=self.recurrent.struct,
            projection=self.projection.struct if self.projection else PackedStruct(),
            bias=address(self.bias, np.float32),
            zeros=address(self.zeros, np.float32),
            cell_clip=config.cell_clip or 0.0,
            projection_clip=config.projection_clip or 0.0,
        )

    def read(  # noqa: PLR0917  called for each layer of each group
        self,
        group: Group,
        order: Rows,
        x: Floats,
        x_rows: Rows,
        out: Floats,
        h: Floats,
        c: Floats,
        *,
        skip: bool,
        gates: Floats | None,
    ) -> None:
        """Read rows of x, write rows of out (N, p); change the state h (B, p) and c (B, 16 n)."""
        n_sentences, n_gates = len(h), self.recurrent.n
        work_rows = max(_INPUT_ROWS, n_sentences)
        cells = workspace("cells", n_sentences * c.shape[1])
        work = workspace("gates", 0 if gates is not None else work_rows * n_gates)
        struct = _LayerStruct.from_buffer_copy(self.struct)
        struct.n_steps = len(group.sizes)
        struct.sizes = address(group.sizes, np.int64)
        struct.x, struct.x_stride = address(x, np.float32), row_stride(x)
        struct.x_rows = address(x_rows, np.int32)
        struct.gates = address(gates, np.float32)
        struct.out, struct.out_stride = address(out, np.float32), row_stride(out)
        struct.out_rows = address(order, np.int32)
        struct.skip = skip
        struct.h, struct.c = address(h, np.float32), address(c, np.float32)
        struct.cells, struct.work = address(cells, np.float32), address(work, np.float32)
        struct.work_rows = work_rows
        kernels().lstm_layer(ctypes.byref(struct))


class Direction:
    """All layers of one direction."""

    def __init__(
        self, config: LstmConfig, arrays: Mapping[str, Array], name: str, *, bfloat16: bool
    ) -> None:
        self.config = config
        self.layers = [
            Layer(config, arrays, f"{name}.layers.{depth}", bfloat16=bfloat16)
            for depth in range(config.n_layers)
        ]

    def word_gates_jobs(self, vectors: Floats) -> tuple[Floats, list[Job]]:
        """Return where the first layer's input products of words will be, and what makes them."""
        first = self.layers[0]
        gates = np.empty((len(vectors), first.input.n), np.float32)
        step = max(_INPUT_ROWS, -(-len(vectors) // n_threads()))

        def make(start: int) -> None:
            rows = slice(start, start + step)
            product(vectors[rows], first.input, bias=first.bias, out=gates[rows])

        return gates, [partial(make, start) for start in range(0, len(vectors), step)]

    def read(  # noqa: PLR0917  called for each layer of each group
        self,
        group: Group,
        order: Rows,
        vectors: Floats,
        words: Rows,
        layers: Floats,
        state: LstmState,
        gates: Floats | None,
    ) -> None:
        """Read the words of a group; write layers (L, N, p), and the state in its place."""
        c_dim = self.config.cell_dim
        c = np.zeros((len(state.h[0]), -(-c_dim // _UNITS) * _UNITS), np.float32)
        x, x_rows = vectors, np.ascontiguousarray(words[order])
        for depth, layer in enumerate(self.layers):
            c[:, :c_dim] = state.c[depth]
            skip = self.config.skip_connections and depth > 0
            layer.read(
                group, order, x, x_rows, layers[depth], state.h[depth], c, skip=skip, gates=gates
            )
            state.c[depth] = c[:, :c_dim]
            x, x_rows, gates = layers[depth], order, None

    def recurs(self, n_words: int, n_tokens: int) -> bool:
        """Return whether the input products of distinct words are worth holding."""
        return n_words < 0.8 * n_tokens and n_words * self.layers[0].input.n <= _MAX_WORD_GATES


def _by_units(weight: Array) -> Array:
    """Return weights (4c, k), gates in the order i, f, g, o, as panels (c / 16, k, 64)."""
    k = weight.shape[1]
    gates = weight.reshape(4, -1, k)
    c = gates.shape[1]
    gates = np.pad(gates, ((0, 0), (0, -c % _UNITS), (0, 0)))
    blocks = gates.reshape(4, -1, _UNITS, k).transpose(1, 3, 0, 2)
    return blocks.reshape(len(blocks), k, 4 * _UNITS)
