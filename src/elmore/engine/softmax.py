"""The output layer that both directions share: states in, log-probabilities of words out.

Shapes: N states, V words, p projection_dim.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from elmore.engine.parallel import n_threads, run_all
from elmore.engine.states import context_states
from elmore.kernels.library import Array, Floats
from elmore.kernels.packed import PackedMatrix, product
from elmore.kernels.softmax import log_softmax

MAX_LOGITS = 2**20  # of a thread at once: 4 MB


@dataclass(frozen=True)
class WordLogProbs:
    """Log-probabilities of words, one for each place that was asked for."""

    forward: Floats
    """log p(word | the words before it)."""
    backward: Floats
    """log p(word | the words after it)."""


class Softmax:
    """The full softmax over the vocabulary, its weights packed."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.weight = PackedMatrix.of(arrays["softmax.weight"].T)
        self.bias = self.weight.whole_panels(arrays["softmax.bias"])

    @property
    def n_words(self) -> int:
        """The words of the vocabulary."""
        return self.weight.n

    def logits(self, states: Floats, n_biases: int = 1) -> Floats:
        """Return W h + n b for states (N, p): (N, V)."""
        return product(np.ascontiguousarray(states), self.weight, bias=n_biases * self.bias)

    def log_probs(self, states: Floats, words: npt.NDArray[np.int64]) -> Floats:
        """Return the log-probability of each word (N,) after its state (N, p)."""
        found = np.empty(len(states), np.float32)
        size = max(1, min(MAX_LOGITS // self.n_words, -(-len(states) // n_threads())))

        def score(start: int) -> None:
            some = slice(start, start + size)
            logits = self.logits(states[some])
            log_softmax(logits)
            found[some] = logits[np.arange(len(logits)), words[some]]

        run_all([partial(score, start) for start in range(0, len(states), size)])
        return found

    def word_log_probs(
        self,
        top: Floats,
        words: npt.NDArray[np.int64],
        *,
        forward: Array | slice,
        backward: Array | slice,
    ) -> WordLogProbs:
        """Score the words (N,), rows of the softmax, by the top layer (N, D) of their text.

        `forward` and `backward` say which places to score from the words before and after them: a
        mask (N,) or a slice. The first token of a sentence has nothing before it, the last nothing
        after it.
        """
        states, p = context_states(top), top.shape[1] // 2
        return WordLogProbs(
            self.log_probs(states[forward, :p], words[forward]),
            self.log_probs(states[backward, p:], words[backward]),
        )
