from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from validation.judges.ordinals import integer_distance, ulp_distance

ml_dtypes = pytest.importorskip("ml_dtypes")
FLOATS = ["float16", "float32", "float64"]


def distance(first: Any, second: Any, dtype: Any) -> float:
    return float(ulp_distance(np.array([first], dtype), np.array([second], dtype))[0])


@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
def test_steps_of_nextafter_are_counted(dtype: str, data: st.DataObject) -> None:
    scalar = np.dtype(dtype).type
    start = scalar(
        data.draw(hnp.from_dtype(np.dtype(dtype), allow_nan=False, allow_infinity=False))
    )
    steps = data.draw(st.integers(0, 20))
    value, taken = start, 0
    while taken < steps and value < np.finfo(dtype).max:
        value = np.nextafter(value, scalar(math.inf))
        taken += 1
    # -0 and 0 are one number, and nextafter goes from either to the smallest positive one.
    assert distance(value, start, dtype) == taken


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "int64", "uint64", "complex64", "bool"])
@given(data=st.data())
def test_it_is_symmetric_and_zero_only_between_equals(dtype: str, data: st.DataObject) -> None:
    elements = hnp.from_dtype(np.dtype(dtype), **_finite(dtype))
    first, second = data.draw(elements), data.draw(elements)
    assert distance(first, second, dtype) == distance(second, first, dtype)
    assert (distance(first, second, dtype) == 0) == (first == second)


@pytest.mark.parametrize("dtype", FLOATS)
@given(data=st.data())
def test_distances_along_the_line_add_up(dtype: str, data: st.DataObject) -> None:
    elements = hnp.from_dtype(np.dtype(dtype), **_finite(dtype))
    low, middle, high = sorted(data.draw(st.lists(elements, min_size=3, max_size=3)))
    whole = distance(low, high, dtype)
    parts = distance(low, middle, dtype) + distance(middle, high, dtype)
    assert whole == pytest.approx(parts, rel=1e-12)


def _finite(dtype: str) -> dict[str, Any]:
    if np.dtype(dtype).kind in "fc":
        return {"allow_nan": False, "allow_infinity": False}
    return {}


def test_zeros_of_both_signs_and_their_neighbours() -> None:
    tiny = float(np.finfo("float32").smallest_subnormal)
    assert distance(0.0, -0.0, "float32") == 0
    assert distance(tiny, -0.0, "float32") == 1
    assert distance(tiny, -tiny, "float32") == 2


def test_extremes_do_not_overflow() -> None:
    for dtype, bits in (("float16", 16), ("float32", 32), ("float64", 64)):
        largest = np.finfo(dtype).max
        expected = 2.0 * float(np.array(largest, dtype).view(f"u{bits // 8}"))
        assert distance(largest, -largest, dtype) == expected
    assert distance(-128, 127, "int8") == 255
    assert distance(2**64 - 1, 0, "uint64") == float(2**64 - 1)
    assert distance(-(2**63), 2**63 - 1, "int64") == float(2**64 - 1)


def test_integers_above_2_to_53() -> None:
    first, second = np.array([2**62 + 1]), np.array([2**62])
    assert integer_distance(first, second)[0] == 1


def test_bfloat16_and_8_bit_floats() -> None:
    assert distance(1.0, 1.0078125, ml_dtypes.bfloat16) == 1
    assert distance(-1.0, 1.0, ml_dtypes.bfloat16) == 2 * 0x3F80
    assert distance(1.0, 1.125, ml_dtypes.float8_e4m3fn) == 1
    assert distance(0.0, -0.0, ml_dtypes.float8_e5m2) == 0
    # Their sign is not the highest of the byte's bits.
    assert distance(-0.5, 0.5, ml_dtypes.float4_e2m1fn) == 2


def test_the_larger_part_of_a_complex_number_counts() -> None:
    eps = float(np.finfo("float32").eps)
    assert distance(1 + 1j, complex(1 + eps, 1 + 3 * eps), "complex64") == 3
