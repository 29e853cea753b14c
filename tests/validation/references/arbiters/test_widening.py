from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from validation.references.arbiters.widening import is_floating, widened


@pytest.mark.parametrize(
    "dtype",
    [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn],
    ids=str,
)
def test_floating_point_becomes_float64(dtype: type) -> None:
    array = np.array([1.5, -2.0], dtype)
    assert is_floating(array.dtype)
    assert widened(array).dtype == np.float64
    np.testing.assert_array_equal(widened(array), [1.5, -2.0])


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_, np.complex64], ids=str)
def test_anything_else_stays(dtype: type) -> None:
    array = np.array([1, 0], dtype)
    assert not is_floating(array.dtype)
    assert widened(array) is array
