"""States in, the loss of their target words and its gradients out: the softmax in training.

The softmax scores candidates: all words, or a sample of them. With a sample each logit is corrected
by the log of the word's expected count among the samples, and a sample that equals the target is
left out (an accidental hit). Logits are overwritten by their gradients, some tokens at a time.

Shapes: N tokens, V words, U candidates with a gradient, S of them scored for every token, p
projection_dim.
"""

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from elmore.engine.parallel import Job, n_threads, run_all
from elmore.kernels.gradients import Rows, add_rows, add_transposed_product, empty_packed, pack
from elmore.kernels.library import Floats, address, kernels
from elmore.kernels.packed import PANEL, PackedStruct

_MAX_LOGITS = 2**22  # at once: 16 MB
_MIN_TOKENS = 96  # at once, however many words there are
_BLOCK = 480  # candidates whose gradients are one job

_pointer, _i64 = ctypes.c_void_p, ctypes.c_int64


def max_tokens(n_scored: int) -> int:
    """Return how many tokens are scored at once, so that their logits take little memory."""
    return max(_MIN_TOKENS, _MAX_LOGITS // max(1, n_scored))


def candidate_rows(samples: Rows, targets: Rows, n_words: int) -> Rows:
    """Return the rows of the softmax that an update touches: the samples, then other targets."""
    is_other = np.zeros(n_words, np.bool_)
    is_other[targets] = True
    is_other[samples] = False
    return np.concatenate([samples, np.flatnonzero(is_other)]).astype(np.int32)


class _LossStruct(ctypes.Structure):
    """`SoftmaxLoss` of softmax_loss.h."""

    _fields_ = (
        ("p", _i64),
        ("n_scored", _i64),
        ("is_sampled", _i64),
        ("score", PackedStruct),
        ("score_back", PackedStruct),
        ("weight", _pointer),
        ("bias", _pointer),
        ("zeros", _pointer),
        ("states", _pointer),
        ("words", _pointer),
        ("places", _pointer),
        ("scale", ctypes.c_float),
        ("dlogits", _pointer),
        ("stride", _i64),
        ("dtargets", _pointer),
        ("dstates", _pointer),
        ("losses", _pointer),
    )


class SoftmaxTraining:
    """A softmax with its gradients, for the candidates of one update."""

    def __init__(
        self,
        weight: Floats,
        bias: Floats,
        *,
        samples: Rows | None = None,
        log_expected: Callable[[Rows], Floats] | None = None,
        targets: Rows | None = None,
        bfloat16: bool = False,
        before: "SoftmaxTraining | None" = None,
    ) -> None:
        """Score all words (V, p), or samples.

        `targets` are all target words of the update, which have gradients too; `log_expected`
        returns of words the log of what count was expected of each. `before` is the update before,
        whose buffers are used again.
        """
        self.weight, self.bfloat16 = weight, bfloat16
        n_words, p = weight.shape
        self.rows: Rows | None = None
        """(U,) the candidates: the samples, then the other targets; None: all words in order."""
        self.n_scored = n_words
        candidate_bias = bias
        self._places: Rows = np.arange(len(weight), dtype=np.int32)
        if samples is not None:
            assert targets is not None
            assert log_expected is not None
            self.rows = candidate_rows(samples, targets, n_words)
            self.n_scored = len(samples)
            candidate_bias = bias[self.rows] - log_expected(self.rows)
            self._places = np.full(n_words, -1, np.int32)
            self._places[self.rows] = np.arange(len(self.rows), dtype=np.int32)
        n = self.n_scored
        whole = max(len(candidate_bias), -(-n // PANEL) * PANEL)
        self.bias = np.zeros(-(-whole // PANEL) * PANEL, np.float32)
        self.bias[: len(candidate_bias)] = candidate_bias
        u = len(candidate_bias)
        self.dweight, self.dbias = np.zeros((u, p), np.float32), np.zeros(u, np.float32)
        stride = -(-n // 16) * 16
        self.chunk = max_tokens(stride)
        if before is None or before.n_scored != n:
            self.score = empty_packed(p, n, bfloat16=bfloat16)
            self.score_back = empty_packed(n, p, bfloat16=bfloat16)
            self.dlogits: Floats = np.empty((self.chunk, stride), np.float32)
        else:
            self.score, self.score_back = before.score, before.score_back
            self.dlogits = before.dlogits
        self.zeros = self.score_back.whole_panels(np.zeros(p, np.float32))
        scored = None if self.rows is None else self.rows[:n]
        run_all([
            partial(pack, self.score, weight, rows=scored, transposed=True),
            partial(pack, self.score_back, weight, rows=scored),
        ])  # fmt: skip

    def __call__(self, states: Floats, targets: Rows, scale: float) -> tuple[Floats, Floats]:
        """Score target words (N,) after states (N, p).

        Return the negative log-likelihood of each (N,), and the gradient of `scale` times their sum
        with respect to the states; gradients of the candidates are accumulated.
        """
        n_tokens, p = states.shape
        assert targets.shape == (n_tokens,)
        assert targets.min() >= 0
        assert targets.max() < len(self.weight)
        assert states.flags.c_contiguous
        places = self._places[targets]
        assert places.min() >= 0
        losses, dstates = np.empty(n_tokens, np.float32), np.empty_like(states)
        dtargets = np.empty(n_tokens, np.float32)
        weight = np.ascontiguousarray(self.weight)
        struct: Any = _LossStruct(
            p=p,
            n_scored=self.n_scored,
            is_sampled=self.rows is not None,
            score=self.score.struct,
            score_back=self.score_back.struct,
            weight=address(weight, np.float32),
            bias=address(self.bias, np.float32),
            zeros=address(self.zeros, np.float32),
            dlogits=address(self.dlogits, np.float32),
            stride=self.dlogits.shape[1],
            scale=scale,
        )
        for start in range(0, n_tokens, self.chunk):
            some = slice(start, min(start + self.chunk, n_tokens))
            n = some.stop - start
            struct.states = address(states[some], np.float32)
            struct.words = address(targets[some], np.int32)
            struct.places = address(places[some], np.int32)
            struct.dtargets = address(dtargets[some], np.float32)
            struct.dstates = address(dstates[some], np.float32)
            struct.losses = address(losses[some], np.float32)
            size = max(1, -(-n // n_threads()))
            run_all([
                partial(kernels().softmax_loss, ctypes.byref(struct), first, min(first + size, n))
                for first in range(0, n, size)
            ])  # fmt: skip
            run_all([self._block_job(block, states[some]) for block in self._blocks()])
            if self.rows is not None:
                add_rows(self.dweight, places[some], states[some], factors=dtargets[some])
                add_rows(self.dbias.reshape(-1, 1), places[some], dtargets[some].reshape(-1, 1))
        return losses, dstates

    def _blocks(self) -> list[slice]:
        n = self.n_scored
        return [slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK)]

    def _block_job(self, block: slice, states: Floats) -> Job:
        return partial(
            add_transposed_product, self.dweight[block], self.dlogits[: len(states), block], states,
            sums=self.dbias[block], bfloat16=self.bfloat16,
        )  # fmt: skip
