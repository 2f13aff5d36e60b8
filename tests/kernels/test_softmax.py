"""Softmax and exponentials."""

import numpy as np
import pytest

from elmore.kernels.softmax import exponentials, log_softmax


@pytest.mark.parametrize("n", [1, 15, 16, 17, 511, 512, 513, 3000])
def test_log_softmax_is_what_float64_computes(n):
    logits = (np.random.default_rng(n).standard_normal((4, n)) * 20).astype(np.float32)
    exact = logits.astype(float)
    most = exact.max(axis=1, keepdims=True)
    sums = most + np.log(np.exp(exact - most).sum(axis=1, keepdims=True))
    log_sums = log_softmax(logits)
    np.testing.assert_allclose(log_sums, sums[:, 0], rtol=1e-6)
    np.testing.assert_allclose(logits, exact - sums, rtol=1e-5, atol=2e-5)


def test_a_row_does_not_depend_on_the_rows_beside_it():
    logits = np.random.default_rng(0).standard_normal((9, 700)).astype(np.float32)
    alone = logits[4:5].copy()
    log_softmax(logits)
    log_softmax(alone)
    np.testing.assert_array_equal(alone[0], logits[4])


def test_far_apart_logits_do_not_overflow():
    logits = np.array([[1000, 0, -1000]], np.float32)
    log_softmax(logits)
    np.testing.assert_allclose(logits, [[0, -1000, -2000]])


def test_exponentials():
    x = np.linspace(-80, 80, 1001).astype(np.float32)
    expected = np.exp(x.astype(float))
    np.testing.assert_allclose(exponentials(x), expected, rtol=1e-5)
