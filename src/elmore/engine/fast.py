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

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from elmore.bilm_config import LstmConfig, Precision
from elmore.engine.engine import EngineOutput, PackedSentences
from elmore.engine.fast_char_cnn import PRODUCT_WORDS
from elmore.engine.fast_token_encoder import FastTokenEncoder
from elmore.engine.lstm_steps import LayerWeights, compiled_read_stack
from elmore.engine.matmul import Matmul, products
from elmore.engine.threads import TwoThreads
from elmore.model.bilm import BiLM, BiLMState
from elmore.model.lstm import LstmLayer, LstmStack, LstmState

# Tokens whose gates are held at once: 64 MB in each thread at the published original shape.
MAX_GATE_ROWS = 1024
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
        if len(lengths) == 1:  # the short way to the same
            (n_steps,) = lengths
            order, sizes = torch.arange(n_steps), [1] * n_steps
            return cls(sizes, _runs(sizes), (order, order.flip(0)), order[-1:])
        length = torch.tensor(lengths)
        first = length.cumsum(0) - length  # token of each sentence
        step, row = (torch.arange(lengths[0])[:, None] < length).nonzero(as_tuple=True)
        n_rows = torch.bincount(step)
        starts = n_rows.cumsum(0) - n_rows
        return cls(
            sizes=n_rows.tolist(),
            runs=_runs(n_rows.tolist()),
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


def _arranged(layer: LstmLayer, products: Matmul) -> LayerWeights:
    def arranged(x: Tensor) -> Tensor:
        i, f, g, o = x.detach().chunk(4)
        return torch.cat([i, f, o, 2 * g])  # 2: tanh by sigmoid

    bias = arranged(layer.bias)
    bias[bias.shape[0] // 4 : bias.shape[0] // 2] += layer.forget_bias
    projection = layer.projection
    return LayerWeights(
        input=products.operand(arranged(layer.input_weight).T.contiguous()),
        bias=bias,
        recurrent=products.operand(arranged(layer.recurrent_weight).T.contiguous()),
        projection=None if projection is None else products.operand(2 * projection.detach().T),
        cell_clip=None if layer.cell_clip is None else 2 * layer.cell_clip,
        projection_clip=layer.projection_clip,
    )


class FastStack:
    """All layers of one direction."""

    def __init__(self, stack: LstmStack, products: Matmul) -> None:
        self.config: LstmConfig = stack.config
        self.zero_state = stack.zero_state
        self.rounds = products.rounds
        self.layers = [
            _arranged(layer, products) for layer in stack.layers if isinstance(layer, LstmLayer)
        ]
        self.read_stack = compiled_read_stack()

    def read(
        self, words: Tensor, tokens: Tensor, steps: _Steps, state: LstmState | None
    ) -> tuple[Tensor, LstmState]:
        """Read packed tokens (N,), each a row of words (W, p); return (L, N, p) and the state."""
        state = state or self.zero_state(steps.sizes[0], words)
        outputs, h, c = self.read_stack(
            words,
            tokens,
            steps.runs,
            steps.last,
            state.h,
            state.c,
            self.layers,
            words.shape[0] < min(tokens.shape[0], 2 * MAX_GATE_ROWS),
            self.config.skip_connections,
            self.rounds,
        )
        return outputs, LstmState(h, c)


class FastEngine:
    """Runs a biLM on a CPU. It holds a copy of the LSTM weights, arranged for speed.

    With `precision="bfloat16"` the operands of its matrix products are rounded to bfloat16.
    """

    def __init__(self, bilm: BiLM, precision: Precision = "float32") -> None:
        self.projection_dim = bilm.config.lstm.projection_dim
        multiply = products(precision)
        self.encode = FastTokenEncoder(bilm.token_encoder, multiply)
        self.stacks = [
            FastStack(stack, multiply) for stack in (bilm.forward_lstm, bilm.backward_lstm)
        ]
        self._threads = TwoThreads()

    def token_vectors(self, token_ids: Tensor) -> Tensor:
        """Encode words, half of them in each thread, or all in one where they are few."""
        vectors = torch.empty(len(token_ids), self.projection_dim, dtype=torch.float32)
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
        layers = torch.empty(n_layers, len(sentences.words), 2 * p, dtype=torch.float32)
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
