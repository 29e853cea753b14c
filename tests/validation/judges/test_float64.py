from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge import InvalidInput
from validation.judges.allclose import AllClose
from validation.judges.exact import Exact
from validation.judges.float64 import Float64
from validation.judges.protocol import Comparison, Context, Float64Run
from validation.vocabulary import Reason

RANDOM = np.random.default_rng(5)
TRUTH = RANDOM.standard_normal(4000)
# Errors as a deep or ill-conditioned float32 net has: far above the tolerance of one rounding.
OURS = (TRUTH * (1 + 1e-5 * RANDOM.standard_normal(4000))).astype(np.float32)
REFERENCE = (TRUTH * (1 + 1e-5 * RANDOM.standard_normal(4000))).astype(np.float32)


def context(array: Any = TRUTH, independent: bool = True) -> Context:
    return Context(1, lambda: Float64Run(np.asarray(array), "a test", independent))


def compare(
    ours: Any = OURS, reference: Any = REFERENCE, given: Context | None = None, **judge: Any
) -> Comparison:
    found = Float64(**judge)
    return found.compare(
        "y", np.asarray(ours), np.asarray(reference), given if given is not None else context()
    )


def test_an_error_no_larger_than_the_reference_s_own_passes() -> None:
    assert not AllClose().compare("y", OURS, REFERENCE, context())
    comparison = compare()
    assert comparison
    assert comparison.judge.startswith("float64:factor=2 after allclose")
    assert any("RMSE against float64 (a test): ours" in note for note in comparison.notes)


def test_a_larger_one_does_not() -> None:
    worse = (TRUTH * (1 + 4e-5 * RANDOM.standard_normal(4000))).astype(np.float32)
    comparison = compare(worse)
    assert comparison.reason is Reason.WRONG_VALUES
    assert "ours 3.9" in comparison.notes[0]
    assert compare(worse, factor=5.0).judge.startswith("float64:factor=5")


@given(st.integers(0, 3999), st.sampled_from([-1.0, 1.0]), st.floats(4e-4, 1e3))
def test_one_wrong_element_is_not_lost_in_the_mean(place: int, sign: float, off: float) -> None:
    ours = OURS.copy()
    ours[place] += np.float32(sign * off)
    # The mean would not tell: one in 4000 that is off by 4e-4 adds 6e-6 to an RMSE of 1e-5.
    assert compare(ours).reason is Reason.WRONG_VALUES


def test_a_run_that_is_not_independent_never_overturns() -> None:
    comparison = compare(given=context(independent=False))
    assert comparison.reason is Reason.WRONG_VALUES
    assert comparison.judge.startswith("allclose")
    assert "not independent" in comparison.notes[-1]
    assert "RMSE" in comparison.notes[0]


def test_a_wrong_reference_is_not_passed_over() -> None:
    # Ours is right; the reference is wrong in one element, which is no matter of rounding.
    wrong = REFERENCE.copy()
    wrong[7] += 0.5
    comparison = compare(reference=wrong)
    assert comparison.reason is Reason.WRONG_VALUES
    assert "too large to be one of rounding" in comparison.notes[-1]


def test_without_a_float64_run_the_first_judge_has_the_last_word() -> None:
    comparison = compare(given=Context())
    assert comparison.reason is Reason.WRONG_VALUES
    assert comparison.notes == ("no float64 run was made",)


def test_the_run_is_asked_for_only_where_it_can_help() -> None:
    def fail() -> Float64Run:
        raise AssertionError("asked")

    unasked = Context(1, fail)
    assert compare(OURS, OURS, unasked)
    nan = OURS.copy()
    nan[3] = np.nan
    assert not compare(nan, REFERENCE, unasked)
    assert not compare(np.array([1, 2]), np.array([1, 3]), unasked)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_float64_run_that_is_not_finite_decides_nothing(value: float) -> None:
    broken = TRUTH.copy()
    broken[0] = value
    assert "not finite" in compare(given=context(broken)).notes[-1]
    assert not compare(given=context(broken))


def test_a_run_of_another_shape_decides_nothing() -> None:
    comparison = compare(given=context(TRUTH[:-1]))
    assert comparison.reason is Reason.WRONG_VALUES
    assert "shape" in comparison.notes[-1]


def test_elements_that_are_infinite_in_both_are_left_out() -> None:
    ours, reference, truth = OURS.copy(), REFERENCE.copy(), TRUTH.copy()
    ours[1] = reference[1] = np.inf
    truth[1] = 1e39
    assert compare(ours, reference, context(truth))


def rounded(dtype: Any, size: float) -> np.ndarray:
    noise = 1 + size * np.random.default_rng(8).standard_normal(4000)
    return (TRUTH * noise).astype(dtype)


def test_half_precision_may_be_three_times_as_far_off() -> None:
    reference = rounded("float16", 4e-3)
    ours = rounded("float16", 1e-2)
    for factor, passes in ((None, True), (2.0, False)):
        assert bool(compare(ours, reference, factor=factor)) is passes
    assert not compare(rounded("float16", 2e-2), reference)


def test_the_floor_is_a_tenth_of_the_absolute_tolerance() -> None:
    # Each alone is too little: four times the reference's largest error, and a tenth of atol.
    reference, ours = np.ones(4, np.float32), np.ones(4, np.float32)
    truth = np.ones(4)
    reference[0] += np.float32(2e-4)
    ours[1] += np.float32(8.5e-4)
    given = context(truth)
    assert compare(ours, reference, given, inner=AllClose(0.0, 8e-4), factor=5.0)
    assert not compare(ours, reference, given, inner=AllClose(0.0, 2e-4), factor=5.0)


def test_another_inner_judge_has_no_floor() -> None:
    assert compare(inner=Exact())
    exact = TRUTH.astype(np.float32)
    ours = exact.copy()
    ours[0] = np.nextafter(ours[0], np.float32(9))
    assert not compare(ours, exact, context(exact), inner=Exact())


def test_complex_outputs() -> None:
    def make(real: np.ndarray) -> np.ndarray:
        return (real + 1j * real[::-1]).astype(np.complex64)

    truth = TRUTH + 1j * TRUTH[::-1]
    assert compare(make(OURS), make(REFERENCE), context(truth))
    assert not compare(make(OURS) + 1e-3, make(REFERENCE), context(truth))


@pytest.mark.parametrize("factor", [0.5, float("nan"), float("inf")])
def test_no_factor(factor: float) -> None:
    with pytest.raises(InvalidInput, match="factor"):
        Float64(factor)


ROUNDED = TRUTH.astype(np.float32)


@pytest.mark.parametrize(("steps", "passes"), [(0.5, True), (20, False)])
def test_within_the_tolerance_a_small_fault_is_found_by_the_float64_run(
    steps: float, passes: bool
) -> None:
    """With 300 roundings behind it, the tolerance is 1.7e-5: 140 steps of float32."""
    eps = float(np.finfo(np.float32).eps)
    ours = (TRUTH * (1 + steps * eps)).astype(np.float32)
    given = Context(300, lambda: Float64Run(TRUTH, "a test", True))
    assert AllClose().compare("y", ours, ROUNDED, given)
    comparison = compare(ours, ROUNDED, given)
    assert bool(comparison) is passes
    if not passes:
        assert comparison.message.startswith("within the tolerance, but further")
    for other in (Context(300), Context(300, lambda: Float64Run(TRUTH, "the IR", False))):
        assert compare(ours, ROUNDED, other)
    assert Float64(inner=AllClose(rtol=1e-4)).compare("y", ours, ROUNDED, given)


def test_a_reference_that_is_far_worse_is_not_passed_over() -> None:
    wrong = ROUNDED.copy()
    wrong[7] += np.float32(3e-4)  # below the ceiling of 1e-3
    comparison = compare(ROUNDED, wrong)
    assert comparison.reason is Reason.WRONG_VALUES
    assert comparison.notes[-1] == "the reference's own error is far larger than ours"


def test_rounding_of_values_of_order_one_is_allowed_to_a_small_output() -> None:
    """A sigmoid's tail: 1e-6, computed from 1 and therefore to 1e-7."""
    small = np.abs(TRUTH) * 1e-6
    coarse = (np.round(small * 2**23) / 2**23).astype(np.float32)
    comparison = compare(small.astype(np.float32), coarse, context(small))
    assert comparison, comparison
