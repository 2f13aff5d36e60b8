"""Products for weights' gradients, sums over rows, and packing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.kernels.gradients import add_rows, add_transposed_product, empty_packed, norm, pack
from elmore.kernels.packed import PackedMatrix, product


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


dims = st.integers(1, 9) | st.sampled_from([47, 48, 49, 63, 64, 65, 130, 257])


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 3) | st.sampled_from([95, 96, 97, 300]), dims, dims)
def test_a_transposed_product_is_what_numpy_computes(n_tokens, m, n):
    a, b, before = random(n_tokens, m), random(n_tokens, n, seed=1), random(m, n, seed=2)
    out, sums = before.copy(), np.ones(m, np.float32)
    add_transposed_product(out, a, b, sums=sums)
    np.testing.assert_allclose(out, before + a.astype(float).T @ b, atol=1e-4)
    np.testing.assert_allclose(sums, 1 + a.astype(float).sum(axis=0), atol=1e-4)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_a_block_has_the_bits_of_the_whole(bfloat16):
    a, b = random(301, 150), random(301, 90, seed=1)
    whole, blocks = np.zeros((2, 150, 90), np.float32)
    add_transposed_product(whole, a, b, bfloat16=bfloat16)
    for rows in (slice(0, 7), slice(7, 101), slice(101, 150)):
        for columns in (slice(0, 65), slice(65, 90)):
            add_transposed_product(
                blocks[rows, columns], a[:, rows], b[:, columns], bfloat16=bfloat16
            )
    np.testing.assert_array_equal(blocks, whole)


def test_rows_may_be_elsewhere_or_nowhere():
    a, b = random(50, 4), random(50, 70, seed=1)
    out, sums, plain = np.zeros((5, 70), "f"), np.zeros(5, "f"), np.zeros((4, 70), "f")
    add_transposed_product(plain, a, b)
    rows = np.array([3, -1, 0, 4], np.int32)
    add_transposed_product(out, a, b, out_rows=rows, sums=sums)
    np.testing.assert_array_equal(out[[3, 0, 4]], plain[[0, 2, 3]])
    assert not out[[1, 2]].any()
    assert (sums != 0).tolist() == [True, False, False, True, True]


def test_rows_are_added_with_their_factors():
    out, x = np.zeros((3, 5), np.float32), random(4, 5)
    rows, factors = np.array([2, 0, 2, 2], np.int32), random(4, seed=1)
    add_rows(out, rows, x)
    add_rows(out, rows, x, factors=factors)
    expected = np.zeros((3, 5))
    np.add.at(expected, rows, x * (1 + factors[:, None]))
    np.testing.assert_allclose(out, expected, atol=1e-6)


@pytest.mark.parametrize("bfloat16", [False, True])
@pytest.mark.parametrize("start", [0, 7, 60, 64])
def test_packing_is_what_numpy_packs(bfloat16, start):
    weight = random(75, 33)
    rows = np.array([7, -1, 70, 3] * 20, np.int32)
    picked = np.where(rows[:, None] < 0, 0, weight[rows])
    for transposed in (False, True):
        whole = picked.T if transposed else picked
        n = start + 33
        shifted = np.zeros((n, 80) if transposed else (80, n), np.float32)
        shifted[tuple(slice(-n, None) for n in whole.shape)] = whole
        found = empty_packed(*shifted.shape, bfloat16=bfloat16)
        pack(found, weight, rows=rows, transposed=transposed, start=start)
        expected = PackedMatrix.of(shifted, bfloat16=bfloat16)
        np.testing.assert_array_equal(found.panels, expected.panels)
        a = random(3, found.k, seed=1)
        zeros = found.whole_panels(np.zeros(0))
        np.testing.assert_array_equal(
            product(a, found, bias=zeros), product(a, expected, bias=zeros)
        )


def test_the_norm_of_some_arrays():
    parts = [random(5, 7), random(1000, seed=1), random(0)]
    assert norm(parts) == pytest.approx(np.linalg.norm(np.concatenate([x.ravel() for x in parts])))
