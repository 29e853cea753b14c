from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge import InvalidInput
from validation.judges.protocol import Comparison, Context
from validation.judges.ulp import ULP

FLOATS = st.floats(-(2.0**99), 2.0**99, width=32)


def compare(ours: object, reference: object, units: float, dtype: str = "float32") -> Comparison:
    judge = ULP(units)
    return judge.compare("y", np.asarray(ours, dtype), np.asarray(reference, dtype), Context())


@given(FLOATS, st.integers(0, 50), st.integers(0, 50))
def test_a_distance_of_n_passes_from_n_units_on(value: float, steps: int, units: int) -> None:
    start = np.float32(value)
    moved = start
    for _ in range(steps):
        moved = np.nextafter(moved, np.float32(np.inf))
    comparison = compare([moved, start], [start, start], units)
    assert bool(comparison) is (steps <= units)
    assert comparison.max_ulp == steps
    assert comparison.mean_ulp == steps / 2


@given(st.lists(FLOATS, min_size=1, max_size=9), st.lists(FLOATS, min_size=1, max_size=9))
def test_it_is_symmetric(first: list[float], second: list[float]) -> None:
    size = min(len(first), len(second))
    there = compare(first[:size], second[:size], 4)
    back = compare(second[:size], first[:size], 4)
    assert bool(there) is bool(back)
    assert there.max_ulp == back.max_ulp


def test_integers_count_their_difference() -> None:
    assert compare([5, -128], [4, -127], 1, "int8")
    assert not compare([6, 0], [4, 0], 1, "int8")


def test_relative_to_the_dtype_and_not_to_the_output() -> None:
    # A thousandth beside values of 1: what allclose would call nothing.
    assert not compare([1.0, 1e-9], [1.0, 2e-9], 4)
    assert compare([1.0, 1e-9], [1.0, 1e-9], 4).judge == "ulp:units=4"


@pytest.mark.parametrize("units", [-1, float("nan"), float("inf")])
def test_what_would_pass_anything_is_refused(units: float) -> None:
    with pytest.raises(InvalidInput, match="units"):
        ULP(units)
