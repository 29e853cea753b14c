from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from validation.judges.allclose import AllClose
from validation.judges.outputs import compare_outputs, proves_nothing
from validation.vocabulary import Reason

A = np.arange(6, dtype=np.float32).reshape(2, 3)


def reasons(ours: Any, reference: Any) -> list[Reason | None]:
    return [c.reason for c in compare_outputs(ours, reference, AllClose())]


def test_each_output_is_compared_under_its_name() -> None:
    comparisons = compare_outputs({"a": A, "b": A + 1}, {"a": A, "b": A}, AllClose())
    assert [(c.output, bool(c)) for c in comparisons] == [("a", True), ("b", False)]


def test_another_number_of_outputs() -> None:
    (comparison,) = compare_outputs({"a": A}, {"a": A, "b": A}, AllClose())
    assert comparison.reason is Reason.WRONG_STRUCTURE
    assert "'b'" in comparison.message
    assert comparison.needed_atol == math.inf
    assert reasons({"a": A, "b": A}, {"a": A}) == [Reason.WRONG_STRUCTURE]


def test_other_names_or_another_order() -> None:
    assert reasons({"a": A}, {"b": A}) == [Reason.WRONG_NAMES]
    assert reasons({"a": A, "b": A}, {"b": A, "a": A}) == [Reason.WRONG_NAMES]


@pytest.mark.parametrize("other", [A.T, A[None], A.ravel(), A[:, :0]])
def test_another_shape_is_never_broadcast(other: np.ndarray) -> None:
    assert reasons({"a": other}, {"a": A}) == [Reason.WRONG_SHAPE]


def test_a_scalar_is_no_vector_of_one() -> None:
    assert reasons({"a": np.float32(1)}, {"a": np.ones(1, "float32")}) == [Reason.WRONG_SHAPE]


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_another_dtype(dtype: str) -> None:
    assert reasons({"a": A.astype(dtype)}, {"a": A}) == [Reason.WRONG_DTYPE]


def test_signedness_and_bool_are_dtypes() -> None:
    ones = np.ones(3, "uint8")
    assert reasons({"a": ones.astype("int8")}, {"a": ones}) == [Reason.WRONG_DTYPE]
    assert reasons({"a": ones.astype(bool)}, {"a": ones}) == [Reason.WRONG_DTYPE]


class TestVacuous:
    @pytest.mark.parametrize(
        "array",
        [
            np.zeros((0, 3)),
            np.full((2, 2), np.nan),
            np.full(3, np.inf),
            np.full(4, 7),
            np.zeros(2),
            np.full(3, 1 + 1j),
        ],
    )
    def test_an_output_that_shows_no_fault(self, array: np.ndarray) -> None:
        assert proves_nothing({"y": array})

    def test_bfloat16_without_a_finite_value(self) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        assert proves_nothing({"y": np.full(3, np.nan, ml_dtypes.bfloat16)})
        assert not proves_nothing({"y": np.array([1, 2], ml_dtypes.bfloat16)})

    def test_no_output_at_all(self) -> None:
        assert proves_nothing({})

    @pytest.mark.parametrize(
        "array",
        [
            A,
            np.array([np.nan, 1.0, 1.0]),
            np.array([True, False]),
            np.array(3),
            np.ones(1),
        ],
    )
    def test_an_output_that_can_show_one(self, array: np.ndarray) -> None:
        assert not proves_nothing({"y": array})

    def test_one_telling_output_is_enough(self) -> None:
        assert not proves_nothing({"y": np.zeros(4), "z": A})

    def test_a_discontiguous_array(self) -> None:
        assert not proves_nothing({"y": A.T})
