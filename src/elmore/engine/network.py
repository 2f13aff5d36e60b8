"""A biLM on a CPU: ids of words in, vectors of words, and all layers of whole sentences out.

Every sum has one order, whatever stands beside it: a word's vector and a sentence's layers have the
same bits alone and in any batch, on any number of threads and any processor. (In bfloat16 the last
two hold, and processors that multiply it differ from those that do not.)

Shapes: W distinct words, B sentences, N tokens of all sentences together (marks included), C
characters, L layers, p projection_dim, D = 2p.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import BiLMConfig, LstmConfig, Precision
from elmore.engine.lstm import Direction, Group, LstmState, Rows, groups
from elmore.engine.parallel import Job, run_all
from elmore.engine.token_encoder import TokenEncoder
from elmore.kernels.library import Array, Floats


@dataclass(frozen=True)
class Sentences:
    """Sentences one after the other, longest first."""

    words: Rows
    """(N,) the index of each token's distinct word."""
    lengths: npt.NDArray[np.int64]
    """(B,) tokens of each sentence."""


@dataclass(frozen=True)
class BiLMState:
    """The LSTM states of both directions, to be carried from one batch into the next."""

    forward: LstmState
    """After each sentence's last token."""
    backward: LstmState
    """After each sentence's first token."""

    def copy(self) -> "BiLMState":
        """Return the same in memory of its own."""
        sides = (self.forward, self.backward)
        return BiLMState(*(LstmState(side.h.copy(), side.c.copy()) for side in sides))

    @classmethod
    def zero(cls, config: LstmConfig, n_sentences: int) -> "BiLMState":
        """Return the state before any token."""
        shape = config.n_layers, n_sentences
        return cls(
            *(
                LstmState(
                    np.zeros((*shape, config.projection_dim), np.float32),
                    np.zeros((*shape, config.cell_dim), np.float32),
                )
                for _ in range(2)
            )
        )


@dataclass(frozen=True)
class Output:
    """All layers of some sentences."""

    layers: Floats
    """(L + 1, N, D), the tokens in the order of the sentences."""
    state: BiLMState
    """The state after each sentence."""


class Network:
    """Runs a biLM, with weights packed for products."""

    def __init__(
        self, config: BiLMConfig, arrays: Mapping[str, Array], precision: Precision = "float32"
    ) -> None:
        bfloat16 = precision == "bfloat16"
        self.config, self.precision = config, precision
        self.token_vectors = TokenEncoder(config, arrays, bfloat16=bfloat16)
        self.directions = [
            Direction(config.lstm, arrays, name, bfloat16=bfloat16)
            for name in ("forward_lstm", "backward_lstm")
        ]

    def zero_state(self, n_sentences: int) -> BiLMState:
        """Return the state before any token."""
        return BiLMState.zero(self.config.lstm, n_sentences)

    def read(
        self, word_vectors: Floats, sentences: Sentences, state: BiLMState | None = None
    ) -> Output:
        """Read sentences whose distinct words have these vectors (W, p), from zero or a state."""
        p, words = self.config.lstm.projection_dim, sentences.words
        assert not len(words) or (words.min() >= 0 and words.max() < len(word_vectors))
        layers = np.empty((self.config.lstm.n_layers + 1, len(words), 2 * p), np.float32)
        layers[0, :, :p] = layers[0, :, p:] = word_vectors[words]
        state = state.copy() if state else self.zero_state(len(sentences.lengths))
        gates, jobs = self._word_gates(word_vectors, len(words))
        run_all(jobs)

        def read(direction: int, group: Group) -> None:
            one = (state.forward, state.backward)[direction]
            some = LstmState(*(np.ascontiguousarray(x[:, group.sentences]) for x in (one.h, one.c)))
            half = layers[1:, :, direction * p : (direction + 1) * p]
            self.directions[direction].read(
                group, group.orders[direction], word_vectors, words, half, some, gates[direction]
            )
            one.h[:, group.sentences], one.c[:, group.sentences] = some.h, some.c

        run_all([partial(read, d, group) for group in groups(sentences.lengths) for d in (0, 1)])
        return Output(layers, state)

    def _word_gates(self, vectors: Floats, n_tokens: int) -> tuple[list[Floats | None], list[Job]]:
        """Return each direction's products of distinct words, where they recur, and their jobs."""
        if not self.directions[0].recurs(len(vectors), n_tokens):
            return [None, None], []
        made = [direction.word_gates_jobs(vectors) for direction in self.directions]
        return [gates for gates, _ in made], [job for _, jobs in made for job in jobs]
