from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from validation.judges.tolerances import (
    ceiling_of,
    is_half,
    is_whole,
    magnitude_of,
    relative_tolerance,
    root_mean_square,
)

ml_dtypes = pytest.importorskip("ml_dtypes")
F32, F64, F16 = (np.dtype(name) for name in ("float32", "float64", "float16"))
BF16 = np.dtype(ml_dtypes.bfloat16)


@given(st.integers(1, 10**7))
def test_deeper_models_have_no_smaller_tolerance_and_all_stay_below_the_ceiling(n: int) -> None:
    for dtype in (F16, BF16, F32, F64):
        assert relative_tolerance(dtype, n) <= relative_tolerance(dtype, n + 1)
        assert relative_tolerance(dtype, n) <= ceiling_of(dtype)
    assert relative_tolerance(F32, n) <= 1e-3
    assert relative_tolerance(F16, n) <= 5e-2


@pytest.mark.parametrize(
    ("dtype", "n", "measured"),
    [
        # Largest errors between compiled and native, relative to |reference| + RMS.
        (F32, 16, 2.0e-7),  # GELU
        (F32, 80, 2.4e-7),  # softmax of 64
        (F32, 173, 1.5e-6),  # convolution, batch norm, ReLU
        (F32, 3315, 6.5e-6),  # 50 dense layers of 64
        (F32, 11402, 4.3e-6),  # a trained text detector
        (F64, 3315, 1.2e-14),  # 50 dense layers of 64
        (F16, 21, 1.6e-3),  # a power
        (F16, 3519, 1.1e-2),  # 50 dense layers of 64
        (BF16, 276, 1.3e-2),  # 3 dense layers of 64
    ],
)
def test_measured_errors_pass_and_a_fault_beyond_them_does_not(
    dtype: np.dtype, n: int, measured: float
) -> None:
    tolerance = relative_tolerance(dtype, n)
    assert measured * 3 < tolerance < measured * 100


def test_a_deep_float32_net_is_neither_a_false_alarm_nor_a_free_pass() -> None:
    assert 1e-5 < relative_tolerance(F32, 50 * 64) < 1e-4


def test_kinds_of_dtypes() -> None:
    assert [is_whole(np.dtype(t)) for t in ("bool", "uint8", "int64", ml_dtypes.int4)] == [True] * 4
    assert not any(is_whole(t) for t in (F16, F32, BF16, np.dtype("complex64")))
    assert [is_half(t) for t in (F16, BF16, F32, F64, np.dtype("int8"))] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert relative_tolerance(np.dtype("int64"), 100) == 0
    assert relative_tolerance(np.dtype("complex64"), 9) == relative_tolerance(F32, 9)
    assert relative_tolerance(np.dtype(ml_dtypes.float8_e4m3fn)) <= 0.125


@given(
    st.lists(st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-3), min_size=1),
    st.integers(-300, 300),
)
def test_root_mean_square_at_any_size(values: list[float], exponent: int) -> None:
    expected = math.sqrt(sum(value**2 for value in values) / len(values))
    scaled = np.array(values) * 10.0**exponent
    assert root_mean_square(scaled) == pytest.approx(expected * 10.0**exponent, rel=1e-9)


def test_root_mean_square_over_several_blocks_and_what_is_not_finite() -> None:
    values = np.arange(200_000.0)
    expected = np.sqrt(np.mean(values**2))
    assert root_mean_square(values) == pytest.approx(expected)
    values[::2] = np.inf
    assert root_mean_square(values) == pytest.approx(np.sqrt(np.mean(values[1::2] ** 2)))
    assert root_mean_square(np.array([np.nan])) == root_mean_square(np.zeros(0)) == 0


def test_magnitudes_of_the_most_negative_integers() -> None:
    assert magnitude_of(np.array([-128], "int8"))[0] == 128
    assert magnitude_of(np.array([3 + 4j], "complex64"))[0] == 5
