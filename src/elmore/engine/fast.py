"""The fast engine: the network of bilm.py, arranged for a CPU.

- Each distinct word is convolved once, by table lookups (fast_char_cnn.py).
- Sentences are packed: longest first, time step after time step, so that the batch shrinks as
  sentences end and no padding is computed.
- The input-to-gates product of a layer is one matrix product for many steps. The first layer's is
  computed once for each distinct word and looked up for each token.
- Only the recurrent product and the projection are computed step by step, in place (lstm_steps.py).
- The directions are independent, so each has a thread of its own.
- tanh(x) is 2 sigmoid(2x) - 1: torch's sigmoid takes a quarter of the time of its tanh. The factors
  of 2 are put where they cost nothing: a weight is doubled, and the cell state c is held doubled.

Shapes: W distinct words, B sentences, N tokens, L layers, p projection_dim, c cell_dim, D = 2p.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from elmore.engine.engine import EngineOutput, PackedSentences
from elmore.engine.fast_char_cnn import PRODUCT_WORDS, TableCnn
from elmore.engine.fast_concat import FastConcat
from elmore.engine.lstm_steps import compiled_lstm_steps
from elmore.engine.matmul import Matmul, products
from elmore.engine.threads import TwoThreads
from elmore.model.bilm import BiLM, BiLMState
from elmore.model.char_cnn import CharCnn
from elmore.model.concat_encoder import ConcatEncoder
from elmore.model.config import LstmConfig, Precision
from elmore.model.lstm import LstmLayer, LstmStack, LstmState
from elmore.model.word_table import CharWordTable

# Tokens whose gates are held at once: 64 MB in each thread at the published original shape.
MAX_GATE_ROWS = 1024
# Matrix libraries multiply few rows with other kernels, which round differently, and an input may
# be a hundred times as large as a state: fewer rows than this are padded with zeros.
_MIN_INPUT_ROWS = 16
# Words whose convolutions are held at once: 32 MB in each thread at the published original shape.
_MAX_WORDS = 4096


@dataclass(frozen=True)
class _Steps:
    """How sentences, longest first, are packed: all first tokens, all second tokens, …"""

    sizes: list[int]
    """(T,) how many sentences have a token at each step."""
    runs: list[tuple[int, int, list[int]]]
    """Packed positions (start, stop) whose gates are held at once, and the sizes of their steps."""
    orders: tuple[Tensor, Tensor]
    """(N,) for each direction: the token at each packed position."""
    last: Tensor
    """(B,) the packed position of each sentence's last step."""

    @classmethod
    def of(cls, lengths: list[int]) -> "_Steps":
        length = torch.tensor(lengths)
        first = length.cumsum(0) - length  # token of each sentence
        step, row = (torch.arange(lengths[0])[:, None] < length).nonzero(as_tuple=True)
        sizes = torch.bincount(step)
        starts = sizes.cumsum(0) - sizes
        return cls(
            sizes=sizes.tolist(),
            runs=_runs(sizes.tolist()),
            orders=(first[row] + step, first[row] + length[row] - 1 - step),
            last=starts[length - 1] + torch.arange(len(length)),
        )


def _runs(sizes: list[int]) -> list[tuple[int, int, list[int]]]:
    runs: list[tuple[int, int, list[int]]] = []
    start = stop = 0
    run: list[int] = []
    for size in sizes:
        if run and stop - start + size > MAX_GATE_ROWS:
            runs.append((start, stop, run))
            start, run = stop, []
        run.append(size)
        stop += size
    return [*runs, (start, stop, run)]


class _FastLayer:
    """One LSTM layer; its gates are in the order i, f, o, g, so that one sigmoid serves all."""

    def __init__(self, layer: LstmLayer, products: Matmul) -> None:
        def arranged(x: Tensor) -> Tensor:
            i, f, g, o = x.detach().chunk(4)
            return torch.cat([i, f, o, 2 * g])  # 2: tanh by sigmoid

        self.doubled_clip = None if layer.cell_clip is None else 2 * layer.cell_clip
        self.projection_clip = layer.projection_clip
        self.products = products
        self.steps = compiled_lstm_steps()
        self.input = products.operand(arranged(layer.input_weight).T.contiguous())  # (p, 4c)
        self.recurrent = products.operand(arranged(layer.recurrent_weight).T.contiguous())
        self.bias = arranged(layer.bias)
        self.bias[self.bias.shape[0] // 4 : self.bias.shape[0] // 2] += layer.forget_bias
        projection = layer.projection
        self.doubled_projection = (
            None if projection is None else products.operand(2 * projection.detach().T)
        )

    def gates(self, x: Tensor) -> Tensor:
        """Return the input's part of the gates, (N, p) -> (N, 4c)."""
        n_missing = max(0, _MIN_INPUT_ROWS - len(x))
        padded = F.pad(x, (0, 0, 0, n_missing)) if n_missing else x
        return self.products.affine(self.bias, padded, self.input)[: len(x)]

    def run(self, gates: Tensor, sizes: list[int], h: Tensor, c: Tensor, out: Tensor) -> Tensor:
        """Step through the packed gates (N, 4c), which are used up; write h (N, p) to `out`.

        `h` (B, p) is the state before, `c` (B, c) is twice the memory, changed in place. Return the
        last step's h.
        """
        return self.steps(
            gates,
            sizes,
            h,
            c,
            out,
            self.recurrent,
            self.doubled_projection,
            self.doubled_clip,
            self.projection_clip,
            self.products.rounds,
        )


class _FastStack:
    """All layers of one direction."""

    def __init__(self, stack: LstmStack, products: Matmul) -> None:
        self.config: LstmConfig = stack.config
        self.zero_state = stack.zero_state
        self.layers = [
            _FastLayer(layer, products) for layer in stack.layers if isinstance(layer, LstmLayer)
        ]

    def read(
        self, words: Tensor, tokens: Tensor, steps: _Steps, state: LstmState | None
    ) -> tuple[Tensor, LstmState]:
        """Read packed tokens (N,), each a row of words (W, p); return (L, N, p) and the state."""
        state = state or self.zero_state(steps.sizes[0], words)
        outputs = words.new_empty(self.config.n_layers, len(tokens), words.shape[1])
        hs, cs = [], []
        x = words
        for depth, (layer, out) in enumerate(zip(self.layers, outputs, strict=True)):
            h, doubled_c = state.h[depth], 2 * state.c[depth]
            # Many tokens are few distinct words: the first layer's gates are computed per word.
            is_worth = len(words) < min(len(tokens), 2 * MAX_GATE_ROWS)
            by_word = layer.gates(words) if depth == 0 and is_worth else None
            for start, stop, sizes in steps.runs:
                if by_word is not None:
                    gates = by_word.index_select(0, tokens[start:stop])
                else:
                    gates = layer.gates(x[start:stop] if depth else words[tokens[start:stop]])
                h = layer.run(gates, sizes, h[: sizes[0]], doubled_c[: sizes[0]], out[start:stop])
            hs.append(out[steps.last])
            cs.append(doubled_c.div_(2))
            if self.config.skip_connections and depth:
                out.add_(x)
            x = out
        return outputs, LstmState(torch.stack(hs), torch.stack(cs))


def _token_encoder(encoder: nn.Module, products: Matmul) -> Callable[[Tensor], Tensor]:
    """Return the equivalent of a token encoder, with table lookups for its convolutions."""
    if isinstance(encoder, CharCnn):
        return TableCnn(encoder, products)
    if isinstance(encoder, CharWordTable):
        char_cnn = TableCnn(encoder.char_cnn, products)
        return lambda ids: char_cnn(ids[:, :-1]).add_(encoder.rows(ids[:, -1]).detach())
    if isinstance(encoder, ConcatEncoder):
        return FastConcat(encoder, products)
    return encoder


class FastEngine:
    """Runs a biLM on a CPU. It holds a copy of the LSTM weights, arranged for speed.

    With `precision="bfloat16"` the operands of its matrix products are rounded to bfloat16.
    """

    def __init__(self, bilm: BiLM, precision: Precision = "float32") -> None:
        self.projection_dim = bilm.config.lstm.projection_dim
        multiply = products(precision)
        self.encode = _token_encoder(bilm.token_encoder, multiply)
        self.stacks = [
            _FastStack(stack, multiply) for stack in (bilm.forward_lstm, bilm.backward_lstm)
        ]
        self._threads = TwoThreads()

    def token_vectors(self, token_ids: Tensor) -> Tensor:
        """Encode words, half of them in each thread, or all in one where they are few."""
        vectors = torch.empty(len(token_ids), self.projection_dim)
        n_parts = 1 if len(token_ids) <= PRODUCT_WORDS else 2

        def encode(part: int) -> None:
            for start in range(part, len(token_ids), n_parts * _MAX_WORDS):
                some = slice(start, start + n_parts * _MAX_WORDS, n_parts)
                vectors[some] = self.encode(token_ids[some])

        self._threads.all([partial(encode, part) for part in range(n_parts)])
        return vectors

    def read(
        self, word_vectors: Tensor, sentences: PackedSentences, state: BiLMState | None
    ) -> EngineOutput:
        """Read sentences, each direction in its thread."""
        steps = _Steps.of(sentences.lengths)
        n_layers, p = self.stacks[0].config.n_layers + 1, self.projection_dim
        layers = torch.empty(n_layers, len(sentences.words), 2 * p)
        states: list[LstmState | None] = [state.forward, state.backward] if state else [None, None]

        def read(direction: int) -> None:
            order = steps.orders[direction]
            half = layers[:, :, direction * p : (direction + 1) * p]
            half[0] = word_vectors[sentences.words]
            outputs, states[direction] = self.stacks[direction].read(
                word_vectors, sentences.words[order], steps, states[direction]
            )
            half[1:, order] = outputs

        self._threads.both(read)
        forward, backward = states
        assert forward is not None
        assert backward is not None
        return EngineOutput(layers, BiLMState(forward, backward))
