from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forge import InvalidInput
from validation.judges.protocol import Comparison, Context
from validation.judges.relative_l2 import RelativeL2


def compare(ours: Any, reference: Any, limit: float, dtype: Any = None) -> Comparison:
    judge = RelativeL2(limit)
    return judge.compare("y", np.asarray(ours, dtype), np.asarray(reference, dtype), Context())


VALUES = st.floats(-1e3, 1e3, width=32).filter(lambda x: x == 0 or abs(x) > 1e-3)


@given(hnp.arrays("float64", 7, elements=VALUES), hnp.arrays("float64", 7, elements=VALUES))
def test_it_is_the_ratio_of_norms(ours: np.ndarray, reference: np.ndarray) -> None:
    size = np.linalg.norm(reference)
    if not size:
        return
    ratio = np.linalg.norm(ours - reference) / size
    assert compare(ours, reference, ratio * (1 + 1e-9))
    if ratio:
        assert not compare(ours, reference, ratio * (1 - 1e-9))


@pytest.mark.parametrize("size", [1e-200, 1e200, 4e307])
def test_neither_large_nor_small_values_overflow(size: float) -> None:
    ours, reference = np.array([3.0, 4.0]) * size, np.array([3.0, 3.0]) * size
    assert compare(ours, reference, 0.24)
    assert not compare(ours, reference, 0.23)


def test_a_reference_of_zeros_takes_zeros_only() -> None:
    assert compare([0.0, 0.0], [0.0, 0.0], 0.0)
    assert not compare([1e-30, 0.0], [0.0, 0.0], 1e6)


def test_integers_and_complex_numbers() -> None:
    assert compare([-127, 100], [-128, 100], 0.01, "int8")
    assert not compare([127, 100], [-128, 100], 0.01, "int8")
    assert not compare([1 + 1j], [1 - 1j], 0.5, "complex64")


def test_a_nan_in_only_one_of_both() -> None:
    assert not compare([np.nan, 1.0], [1.0, 1.0], 10.0)
    assert compare([np.nan, 1.0], [np.nan, 1.0], 0.0)


def test_the_figure_is_told_when_it_passes_too() -> None:
    comparison = compare([1.0, 1.1], [1.0, 1.0], 0.1)
    assert comparison.judge == "l2:limit=0.1"
    assert comparison.notes == ("relative L2 error 0.0707107",)


@pytest.mark.parametrize("limit", [-1.0, float("nan"), float("inf")])
def test_what_would_pass_anything_is_refused(limit: float) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        RelativeL2(limit)
