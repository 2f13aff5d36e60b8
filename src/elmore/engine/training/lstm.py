"""The LSTM layers of one direction in training: a window of text forward, and back through time.

The equations are those of model/lstm.py, and the forward pass has the bits of the engine's. Clips
pass the gradient where they had no effect.

Shapes: T steps, B streams, N = T B tokens (time step by time step), L layers, p projection_dim, c
cell_dim, C the same rounded up to a multiple of 16.
"""

import ctypes
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import LstmConfig
from elmore.engine.parallel import Job, n_threads
from elmore.engine.training.dropout import NO_DROPOUT, Dropout, DropoutStruct
from elmore.kernels.gradients import Rows, add_transposed_product, empty_packed, pack
from elmore.kernels.library import Floats, address, kernels
from elmore.kernels.packed import PANEL, PackedMatrix, PackedStruct

_UNITS = 16  # of one block of gates: i, f, g and o of so many units
_BLOCK = 528  # rows of a weight whose gradient is one job

_pointer, _i64 = ctypes.c_void_p, ctypes.c_int64


class _WindowStruct(ctypes.Structure):
    """`LstmWindow` of lstm_gradients.h."""

    _fields_ = (
        ("n_steps", _i64),
        ("n_streams", _i64),
        ("p", _i64),
        ("cell_dim", _i64),
        ("skip", _i64),
        ("cell_clip", ctypes.c_float),
        ("projection_clip", ctypes.c_float),
        ("weights", PackedStruct),
        ("weights_back", PackedStruct),
        ("projection", PackedStruct),
        ("projection_back", PackedStruct),
        ("bias", _pointer),
        ("zeros", _pointer),
        ("x", _pointer),
        ("x_stride", _i64),
        ("x_rows", _pointer),
        ("dropout", DropoutStruct),
        ("first_stream", _i64),
        ("all_streams", _i64),
        ("starts", _pointer),
        ("h_before", _pointer),
        ("inputs", _pointer),
        ("gates", _pointer),
        ("c", _pointer),
        ("cells", _pointer),
        ("h", _pointer),
        ("out", _pointer),
        ("dout", _pointer),
        ("dh", _pointer),
        ("dx", _pointer),
        ("dinputs", _pointer),
        ("dc", _pointer),
        ("dcells", _pointer),
    )


class _Layer:
    """One layer, with what its backward pass needs."""

    def __init__(
        self,
        config: LstmConfig,
        arrays: Mapping[str, Floats],
        name: str,
        shape: tuple[int, int],
        *,
        skip: bool,
        bfloat16: bool,
    ) -> None:
        self.name, self.config, self.bfloat16 = name, config, bfloat16
        self.input_weight = arrays[f"{name}.input_weight"]
        self.recurrent_weight = arrays[f"{name}.recurrent_weight"]
        self.bias = arrays[f"{name}.bias"]
        self.projection = arrays.get(f"{name}.projection")
        c, p = config.cell_dim, config.projection_dim
        self.gate_rows = _gate_rows(c)
        n_gates = len(self.gate_rows)
        self.c_dim = c_dim = n_gates // 4
        n_steps, n_streams = shape
        n_tokens = n_steps * n_streams

        def packed(k: int, n: int) -> PackedMatrix:
            return empty_packed(k, n, bfloat16=bfloat16)

        self.weights, self.weights_back = packed(2 * p, n_gates), packed(n_gates, 2 * p)
        self.projections = None if self.projection is None else (packed(c, p), packed(p, c))
        self.unit_bias = np.zeros(n_gates, np.float32)
        self.inputs = np.empty((n_tokens, 2 * p), np.float32)
        self.gates = np.empty((n_tokens, n_gates), np.float32)
        self.c = np.zeros((n_steps + 1, n_streams, c_dim), np.float32)
        self.cells = np.empty((n_tokens, c_dim), np.float32)
        self.h_before = np.empty((n_streams, p), np.float32)
        self.h, self.out, self.dh, self.dx = (np.empty((n_tokens, p), np.float32) for _ in range(4))
        empty = PackedStruct()
        self.struct = _WindowStruct(
            n_steps=n_steps,
            n_streams=n_streams,
            p=p,
            cell_dim=c_dim,
            skip=skip,
            cell_clip=config.cell_clip or 0.0,
            projection_clip=config.projection_clip or 0.0,
            weights=self.weights.struct,
            weights_back=self.weights_back.struct,
            projection=self.projections[0].struct if self.projections else empty,
            projection_back=self.projections[1].struct if self.projections else empty,
            bias=address(self.unit_bias, np.float32),
            h_before=address(self.h_before, np.float32),
            **{
                name: address(getattr(self, name), np.float32)
                for name in ("inputs", "gates", "c", "cells", "h", "out", "dh", "dx")
            },
        )

    def pack(self) -> None:
        """Pack the weights, which have changed."""
        rows, p = self.gate_rows, self.config.projection_dim
        for start, weight in ((0, self.input_weight), (p, self.recurrent_weight)):
            pack(self.weights, weight, rows=rows, transposed=True, start=start)
            pack(self.weights_back, weight, rows=rows, start=start)
        if self.projections is not None:
            assert self.projection is not None
            pack(self.projections[0], self.projection, transposed=True)
            pack(self.projections[1], self.projection)
        c = self.config.cell_dim
        bias = self.bias.copy()
        bias[c : 2 * c] += np.float32(self.config.forget_bias)
        real = rows >= 0
        self.unit_bias[real] = bias[rows[real]]

    def weight_jobs(self, gradients: Mapping[str, Floats]) -> list[Job]:
        """Return jobs that add the gradients of the weights that learn."""
        jobs: list[Job] = []
        p, c = self.config.projection_dim, self.config.cell_dim
        bias = gradients.get(f"{self.name}.bias")
        for start in range(0, len(self.gate_rows), _BLOCK):
            block = slice(start, start + _BLOCK)
            for name, columns in (("input", slice(0, p)), ("recurrent", slice(p, 2 * p))):
                found = gradients.get(f"{self.name}.{name}_weight")
                sums = bias if name == "input" else None
                if found is None and sums is not None:
                    found = np.zeros_like(self.input_weight)  # for the sums alone
                if found is not None:
                    job = partial(
                        add_transposed_product, found, self.gates[:, block],
                        self.inputs[:, columns], out_rows=self.gate_rows[block], sums=sums,
                        bfloat16=self.bfloat16,
                    )  # fmt: skip
                    jobs.append(job)
        found = gradients.get(f"{self.name}.projection")
        for start in range(0, 0 if found is None else p, _BLOCK):
            assert found is not None
            block = slice(start, start + _BLOCK)
            job = partial(
                add_transposed_product, found[block], self.dh[:, block], self.cells[:, :c],
                bfloat16=self.bfloat16,
            )  # fmt: skip
            jobs.append(job)
        return jobs


class DirectionTraining:
    """All layers of one direction, for windows of one shape."""

    def __init__(
        self,
        config: LstmConfig,
        arrays: Mapping[str, Floats],
        name: str,
        shape: tuple[int, int],
        *,
        bfloat16: bool = False,
        streams: tuple[int, int] | None = None,
    ) -> None:
        """Take (T, B); of streams, the number of the first one and how many there are in all."""
        self.config, self.shape = config, shape
        self.first_stream, self.all_streams = streams or (0, shape[1])
        self.layers = [
            _Layer(
                config, arrays, f"{name}.layers.{depth}", shape, bfloat16=bfloat16,
                skip=config.skip_connections and depth > 0,
            )
            for depth in range(config.n_layers)
        ]  # fmt: skip
        p, c_dim, n_streams = config.projection_dim, self.layers[0].c_dim, shape[1]
        self.zeros = np.zeros(4 * c_dim + 2 * p + PANEL, np.float32)
        self.dinputs = np.empty((n_streams, 2 * p), np.float32)
        self.dc, self.dcells = (np.empty((n_streams, c_dim), np.float32) for _ in range(2))
        for layer in self.layers:
            struct: Any = layer.struct
            struct.zeros = address(self.zeros, np.float32)
            struct.first_stream, struct.all_streams = self.first_stream, self.all_streams
            for work in ("dinputs", "dc", "dcells"):
                setattr(struct, work, address(getattr(self, work), np.float32))
        self.last_dropout = NO_DROPOUT

    def pack_jobs(self) -> list[Job]:
        """Return jobs that pack all weights."""
        return [layer.pack for layer in self.layers]

    @property
    def states(self) -> Floats:
        """The output of the last layer, (N, p)."""
        return self.layers[-1].out

    @property
    def outputs(self) -> list[Floats]:
        """The output of each layer, (N, p)."""
        return [layer.out for layer in self.layers]

    @property
    def dvectors(self) -> Floats:
        """The gradient of the token vectors, (N, p)."""
        return self.layers[0].dx

    def state(self) -> tuple[Floats, Floats]:
        """Return copies of the state after the last step, (L, B, p) and (L, B, c)."""
        n_streams, c = self.shape[1], self.config.cell_dim
        return (
            np.stack([layer.h[-n_streams:] for layer in self.layers]),
            np.stack([layer.c[-1, :, :c] for layer in self.layers]),
        )

    def forward_jobs(
        self,
        vectors: Floats,
        words: Rows,
        state: tuple[Floats, Floats],
        *,
        starts: npt.NDArray[np.bool_] | None = None,
        dropouts: Sequence[Dropout] = (),
    ) -> list[Job]:
        """Return jobs that read tokens, given the row (N,) of each of the vectors (W, p).

        `starts` (T, B) are the tokens that are read from the zero state; `dropouts` are those of
        the input of each layer and of the last output. All is kept for the backward pass.
        """
        n_tokens = self.shape[0] * self.shape[1]
        assert words.shape == (n_tokens,)
        assert words.min() >= 0
        assert words.max() < len(vectors)
        assert vectors.shape[1] == self.config.projection_dim
        assert starts is None or starts.shape == self.shape
        self.starts = None if starts is None else np.ascontiguousarray(starts, np.uint8)
        self.vectors, self.words = vectors, words
        h, c = state
        drops = [*dropouts] or [NO_DROPOUT] * (len(self.layers) + 1)
        self.last_dropout = drops[-1]
        for depth, (layer, dropout) in enumerate(zip(self.layers, drops[:-1], strict=True)):
            layer.h_before[:] = h[depth]
            layer.c[0, :, : self.config.cell_dim] = c[depth]
            x = vectors if depth == 0 else self.layers[depth - 1].out
            struct: Any = layer.struct
            struct.x, struct.x_stride = address(x, np.float32), x.strides[0] // 4
            struct.x_rows = address(words, np.int32) if depth == 0 else None
            struct.starts = address(self.starts, np.uint8)
            struct.dropout = dropout.struct
        return [partial(self._forward, *some) for some in self._shards()]

    def backward_jobs(
        self, dstates: Floats, *, dlower: Sequence[Floats] = (), lowest: int = 0
    ) -> list[Job]:
        """Return jobs that take the gradient of the states (N, p), which they overwrite.

        `dlower` are the gradients that the outputs of the layers below the last have on their own
        account. With `lowest`, the layers below that one are left out.
        """
        assert dstates.shape == self.states.shape
        assert dstates.flags.c_contiguous
        dout = dstates
        for layer in reversed(self.layers):
            struct: Any = layer.struct
            struct.dout = address(dout, np.float32)
            dout = layer.dx
        return [partial(self._backward, dstates, dlower, lowest, *some) for some in self._shards()]

    def weight_jobs(self, gradients: Mapping[str, Floats], *, lowest: int = 0) -> list[Job]:
        """Return jobs that add the gradients of the weights, after the backward pass."""
        return [job for layer in self.layers[lowest:] for job in layer.weight_jobs(gradients)]

    def _shards(self) -> list[tuple[int, int]]:
        """Return the first and last stream of each job: as many as keep all threads busy."""
        n_streams = self.shape[1]
        size = -(-n_streams // max(1, n_threads() // 2))
        return [(start, min(start + size, n_streams)) for start in range(0, n_streams, size)]

    def _forward(self, first: int, last: int) -> None:
        for layer in self.layers:
            kernels().lstm_window(ctypes.byref(layer.struct), first, last)
        self._drop(self.states, first, last)

    def _backward(
        self, dstates: Floats, dlower: Sequence[Floats], lowest: int, first: int, last: int
    ) -> None:
        self._drop(dstates, first, last)
        for depth in reversed(range(lowest, len(self.layers))):
            layer = self.layers[depth]
            kernels().lstm_window_back(ctypes.byref(layer.struct), first, last)
            if dlower and depth > lowest:
                self._streams(layer.dx, first, last)[:] += self._streams(
                    dlower[depth - 1], first, last
                )

    def _streams(self, x: Floats, first: int, last: int) -> Floats:
        found: Floats = x.reshape(*self.shape, -1)[:, first:last]
        return found

    def _drop(self, x: Floats, first: int, last: int) -> None:
        p = self.config.projection_dim
        for step, rows in enumerate(self._streams(x, first, last)):
            if self.last_dropout.rate:
                place = step * self.all_streams + self.first_stream + first
                self.last_dropout.drop(rows, place * p)


def window_bytes(config: LstmConfig, shape: tuple[int, int], n_bytes: int) -> int:
    """Return the memory of a direction for windows of (T, B); `n_bytes` a number of a weight."""
    (n_steps, n_streams), p = shape, config.projection_dim
    c_dim, n_panels = -(-config.cell_dim // _UNITS) * _UNITS, -(-p // PANEL)
    wide = -(-2 * p // PANEL) * PANEL
    packed = 2 * p * 4 * c_dim + 4 * c_dim * wide
    if config.has_projection:
        whole = -(-config.cell_dim // PANEL) * PANEL
        packed += config.cell_dim * n_panels * PANEL + p * whole
    tokens = n_steps * n_streams * (6 * p + 5 * c_dim)
    state = (n_steps + 1) * n_streams * c_dim + n_streams * p
    layer = packed * n_bytes + 4 * (tokens + state + 2 * 4 * c_dim)
    work = 4 * (n_streams * (2 * p + 2 * c_dim) + 4 * c_dim + 2 * p + PANEL)
    return config.n_layers * layer + work


def _gate_rows(c: int) -> Rows:
    """Return the row of a weight (4c, p) for each gate, packed by units; -1 where there is none."""
    units = np.arange(-(-c // _UNITS) * _UNITS).reshape(-1, 1, _UNITS)
    rows = np.where(units < c, units + np.arange(4)[:, None] * c, -1)
    return np.ascontiguousarray(rows.reshape(-1), np.int32)
