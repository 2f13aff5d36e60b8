"""Products with packed matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.kernels.packed import PackedMatrix, product, to_bfloat16


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


dims = st.integers(0, 9) | st.sampled_from([47, 48, 49, 63, 64, 65, 130, 257, 600])


@settings(deadline=None, max_examples=60)
@given(dims, dims.filter(bool), dims.filter(bool))
def test_a_product_is_what_numpy_computes(m, k, n):
    a, matrix, bias = random(m, k), random(k, n, seed=1), random(n, seed=2)
    packed = PackedMatrix.of(matrix)
    result = product(a, packed, bias=packed.whole_panels(bias))
    expected = a.astype(float) @ matrix + bias
    np.testing.assert_allclose(result, expected, atol=1e-6 * k + 1e-6)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 120), st.sampled_from([3, 128, 300]), st.sampled_from(["f4", "f2", "bf16"]))
def test_a_row_does_not_depend_on_the_rows_beside_it(m, k, stored):
    matrix = random(k, 70, seed=1).astype("f2" if stored == "f2" else "f4")
    packed = PackedMatrix.of(matrix, bfloat16=stored == "bf16")
    a, bias = random(m, k), packed.whole_panels(random(70, seed=2))
    together = product(a, packed, bias=bias)
    for row in {0, m // 2, m - 1}:
        np.testing.assert_array_equal(
            product(a[row : row + 1], packed, bias=bias)[0], together[row]
        )


@pytest.mark.parametrize("m", [1, 12, 13, 50])
def test_float16_weights_give_the_bits_of_the_same_numbers_in_float32(m):
    stored = random(300, 70).astype(np.float16)
    half, full = PackedMatrix.of(stored), PackedMatrix.of(stored.astype(np.float32))
    assert half.panels.dtype == np.float16
    a, bias = random(m, 300), full.whole_panels(random(70))
    np.testing.assert_array_equal(product(a, half, bias=bias), product(a, full, bias=bias))


def test_bfloat16_rounds_both_sides_to_nearest_even():
    a, matrix = random(7, 33), random(33, 66, seed=1)
    packed = PackedMatrix.of(matrix, bfloat16=True)

    def rounded(x: np.ndarray) -> np.ndarray:
        return (to_bfloat16(x).astype(np.uint32) << 16).view(np.float32)

    result = product(a, packed, bias=packed.whole_panels(np.zeros(66)))
    np.testing.assert_allclose(result, rounded(a).astype(float) @ rounded(matrix), atol=1e-5)
    ties = np.array([1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8], np.float32)
    np.testing.assert_array_equal(rounded(ties), np.float32([1, 1 + 2**-6, -1]))


def test_rows_may_be_gathered():
    a, packed = random(5, 40), PackedMatrix.of(random(40, 64))
    rows = np.array([4, 0, 0, 3], np.int32)
    bias = packed.whole_panels(np.zeros(64))
    gathered = product(a, packed, bias=bias, rows=rows)
    np.testing.assert_array_equal(gathered, product(a[rows], packed, bias=bias))


def test_the_result_may_be_columns_of_a_wider_array():
    a, packed = random(5, 40), PackedMatrix.of(random(40, 70))
    bias = packed.whole_panels(np.zeros(70))
    wide = np.full((5, 200), 7, np.float32)
    product(a, packed, bias=bias, out=wide[:, 100:170])
    np.testing.assert_array_equal(wide[:, 100:170], product(a, packed, bias=bias))
    assert (wide[:, :100] == 7).all()
    assert (wide[:, 170:] == 7).all()


def test_a_matrix_that_does_not_fit_is_an_error():
    packed = PackedMatrix.of(random(40, 64))
    bias = packed.whole_panels(np.zeros(64))
    with pytest.raises(AssertionError):
        product(random(5, 41), packed, bias=bias)
    with pytest.raises(AssertionError):
        product(random(5, 40).astype(np.float64), packed, bias=bias)
    with pytest.raises(AssertionError):
        product(random(40, 5).T, packed, bias=bias)
    with pytest.raises(AssertionError):
        product(random(5, 40), packed, bias=bias, rows=np.array([5], np.int32))
