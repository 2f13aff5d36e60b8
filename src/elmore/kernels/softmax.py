"""Softmax and exp, by kernels: NumPy's exp differs from machine to machine."""

import numpy as np

from elmore.kernels.library import Floats, address, kernels


def log_softmax(logits: Floats) -> Floats:
    """Turn logits (B, n) into log-probabilities in their place; return log(sum(exp(logits)))."""
    sums = np.empty(len(logits), np.float32)
    assert logits.flags.c_contiguous
    assert logits.shape[1] > 0
    kernels().log_softmax(address(logits, np.float32), *logits.shape, address(sums, np.float32))
    return sums


def exponentials(x: Floats) -> Floats:
    """Return e^x, for x from -87 to 87."""
    result = np.array(x, np.float32, order="C")
    kernels().exponentials(address(result, np.float32), result.size)
    return result
