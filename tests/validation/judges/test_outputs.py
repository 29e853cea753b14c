from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from validation.judges.allclose import AllClose
from validation.judges.outputs import compare_outputs
from validation.judges.protocol import Comparison, Context
from validation.vocabulary import Reason

A = np.arange(6, dtype=np.float32).reshape(2, 3)


def compare(ours: Any, reference: Any, sample: int = 0) -> list[Comparison]:
    return compare_outputs(
        ours, reference, lambda name, dtype: AllClose(), lambda name: Context(), sample
    )


def reasons(ours: Any, reference: Any) -> list[Reason | None]:
    return [c.reason for c in compare(ours, reference)]


def test_each_output_is_compared_under_its_name() -> None:
    comparisons = compare({"a": A, "b": A + 1}, {"a": A, "b": A})
    assert [(c.output, bool(c)) for c in comparisons] == [("a", True), ("b", False)]


def test_another_number_of_outputs() -> None:
    (comparison,) = compare({"a": A}, {"a": A, "b": A})
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


def test_the_same_names_in_another_order_are_said_to_be_that() -> None:
    (comparison,) = compare({"a": A, "b": A}, {"b": A, "a": A})
    assert "another order" in comparison.message
    (comparison,) = compare({"a": A}, {"b": A})
    assert "another order" not in comparison.message


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (A[None], "size 1"),
        (A[:, None, :], "size 1"),
        (A.T, "transposition"),
        (A.ravel(), "number of elements"),
        (A[:, :2], ""),
    ],
)
def test_a_simple_difference_of_shapes_is_named(other: np.ndarray, text: str) -> None:
    (comparison,) = compare({"a": other}, {"a": A})
    known = ("size 1", "transposition", "number of elements")
    assert [word for word in known if word in comparison.message] == ([text] if text else [])


def test_each_output_has_its_judge_context_and_sample() -> None:
    asked: list[Any] = []

    class Recorder:
        def __init__(self, name: str) -> None:
            self.name = name

        def compare(self, output: str, ours: Any, reference: Any, context: Context) -> Comparison:
            asked.append((self.name, output, context.accumulations))
            return Comparison(output, self.name)

    comparisons = compare_outputs(
        {"a": A, "b": A.astype("int32")},
        {"a": A, "b": A.astype("int32")},
        lambda name, dtype: Recorder(f"{name} {dtype}"),
        lambda name: Context(accumulations=ord(name)),
        sample=2,
    )
    assert asked == [("a float32", "a", 97), ("b int32", "b", 98)]
    assert [c.sample for c in comparisons] == [2, 2]


def test_verdicts_without_values_carry_the_sample_and_no_tolerance_would_do() -> None:
    for ours in ({"a": A[0]}, {"a": A.astype("int8")}, {"b": A}, {}):
        (comparison,) = compare(ours, {"a": A}, sample=3)
        assert comparison.sample == 3
        assert comparison.needed_atol == comparison.needed_rtol == math.inf
        assert comparison.histogram == ()
