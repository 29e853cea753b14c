from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forge import InvalidInput
from validation.judges.allclose import AllClose
from validation.judges.protocol import Comparison, Context
from validation.vocabulary import Reason


def compare(ours: Any, reference: Any, dtype: Any = None, **tolerances: Any) -> Comparison:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return AllClose(**tolerances).compare(
            "y", np.asarray(ours, dtype), np.asarray(reference, dtype), Context()
        )


def refused(ours: Any, reference: Any, dtype: Any = None, **tolerances: Any) -> Comparison:
    comparison = compare(ours, reference, dtype, **tolerances)
    assert not comparison
    assert comparison.reason is Reason.WRONG_VALUES
    return comparison


FLOATS = ["float16", "float32", "float64"]


class TestNotFinite:
    @pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_same_place_passes(self, dtype: str, value: float) -> None:
        comparison = compare([1, value, 2], [1, value, 2], dtype)
        assert comparison
        nan = int(np.isnan(value))
        assert comparison.nan == (nan, nan)
        assert comparison.infinite == (1 - nan, 1 - nan)
        assert comparison.max_absolute == 0

    @pytest.mark.parametrize("dtype", [*FLOATS, "complex64"])
    @pytest.mark.parametrize(
        ("ours", "reference"),
        [
            ([1, np.nan, 2], [1, 5, 2]),
            ([1, 5, 2], [1, np.nan, 2]),
            ([np.nan, 1, 2], [1, np.nan, 2]),
            ([1, np.inf, 2], [1, -np.inf, 2]),
            ([1, np.inf, 2], [1, np.nan, 2]),
            ([1, np.inf, 2], [1, 3, 2]),
        ],
    )
    def test_another_place_or_kind_fails(self, dtype: str, ours: Any, reference: Any) -> None:
        comparison = refused(ours, reference, dtype, rtol=10.0, atol=1e4)
        assert comparison.needed_atol == comparison.needed_rtol == math.inf

    def test_the_index_points_at_the_misplaced_value(self) -> None:
        comparison = refused([[1.0, 9.0], [np.nan, 2.0]], [[1.0, 2.0], [3.0, 2.0]])
        assert comparison.worst_index == (1, 0)
        assert math.isnan(comparison.worst_ours)
        assert comparison.worst_reference == 3.0
        assert comparison.nan == (1, 0)

    def test_all_nan_on_both_sides_passes_without_a_warning(self) -> None:
        assert compare([np.nan] * 3, [np.nan] * 3, "float32")


class TestIntegers:
    @pytest.mark.parametrize("dtype", ["int64", "uint64"])
    def test_off_by_one_above_2_to_53_is_seen(self, dtype: str) -> None:
        comparison = refused([2**53 + 1], [2**53], dtype)
        assert comparison.max_absolute == 1
        refused([2**62 + 1, 0], [2**62, 0], dtype)

    def test_largest_uint64_and_its_neighbour(self) -> None:
        assert compare([2**64 - 1], [2**64 - 1], "uint64")
        assert refused([2**64 - 1], [2**64 - 2], "uint64").max_absolute == 1
        assert refused([0], [2**64 - 1], "uint64").max_absolute == float(2**64 - 1)

    @pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
    def test_extremes_do_not_wrap(self, dtype: str) -> None:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        assert refused([low], [high], dtype).max_absolute == float(int(high) - int(low))
        assert refused([high], [low], dtype).max_absolute == float(int(high) - int(low))
        assert compare([low, high], [low, high], dtype)

    def test_relative_error_at_the_most_negative_value(self) -> None:
        comparison = refused([-127], [-128], "int8")
        assert comparison.max_relative == pytest.approx(1 / 128)

    def test_a_relative_tolerance_given_for_integers_counts_from_the_magnitude(self) -> None:
        assert compare([-127], [-128], "int8", rtol=0.01)
        refused([-126], [-128], "int8", rtol=0.01)

    def test_given_atol_allows_rounding_of_quantised_values(self) -> None:
        assert compare([3, 4], [4, 4], "uint8", atol=1)
        refused([2, 4], [4, 4], "uint8", atol=1)

    def test_booleans(self) -> None:
        assert compare([True, False], [True, False])
        comparison = refused([True, False], [True, True])
        assert comparison.worst_index == (1,)
        assert "1 of 2" in comparison.message


class TestFloats:
    @pytest.mark.parametrize(
        ("dtype", "good", "bad"),
        [
            ("float16", 1 + 2e-3, 1 + 8e-3),
            ("float32", 1 + 1e-6, 1 + 4e-6),
            ("float64", 1 + 2e-15, 1 + 8e-15),
        ],
    )
    def test_the_default_tolerance_fits_the_precision(
        self, dtype: str, good: float, bad: float
    ) -> None:
        assert compare([good, 1], [1, 1], dtype)
        refused([bad, 1], [1, 1], dtype)

    def test_bfloat16(self) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        assert compare([1.0, 2.0], [1.0078125, 2.0], ml_dtypes.bfloat16)
        refused([1.0, 2.0], [1.25, 2.0], ml_dtypes.bfloat16)
        refused([1.0, np.nan], [1.0, 2.0], ml_dtypes.bfloat16)
        assert compare([1.0, np.nan], [1.0, np.nan], ml_dtypes.bfloat16)

    def test_complex_values_differ_in_either_part(self) -> None:
        assert compare([1 + 2j], [1 + 2j], "complex64")
        comparison = refused([1 + 2j, 0], [1 + 3j, 0], "complex64")
        assert (comparison.worst_ours, comparison.worst_reference) == (2, 3)
        assert comparison.max_absolute == pytest.approx(1)
        refused([1 + 2j], [2 + 2j], "complex128")

    def test_complex_nan_in_another_part_fails(self) -> None:
        refused([complex(np.nan, 1)], [complex(np.nan, 2)], "complex64")
        refused([complex(np.nan, 1)], [complex(1, np.nan)], "complex64")

    def test_tiny_outputs_get_no_free_pass(self) -> None:
        refused([1e-12, 2e-12], [1e-12, 3e-12], "float32")
        refused([0.0, 0.0], [1e-12, 3e-12], "float32")
        assert compare([1e-12, 2e-12], [1e-12, 2e-12 * (1 + 1e-5)], "float64", rtol=1e-4)

    def test_a_reference_of_zeros_takes_nothing_else(self) -> None:
        refused([0.0, 1e-20], [0.0, 0.0], "float32")

    def test_subnormal_values(self) -> None:
        assert compare([5e-324, 0.0], [5e-324, 0.0], "float64")
        refused([5e-324, 5e-322], [5e-324, 0.0], "float64")

    def test_huge_values_do_not_overflow(self) -> None:
        values = np.full(100, 1.7e308)
        assert compare(values, values)
        assert refused(-values, values).max_absolute == math.inf
        assert compare([1e300], [1e300 * (1 + 1e-15)])
        refused([1e300], [1.1e300])
        refused([1e300, 1.0], [1e-300, 1.0])

    def test_float16_near_its_largest(self) -> None:
        assert compare([65504.0, 1], [65504.0, 1], "float16")
        assert refused([65504.0], [-65504.0], "float16").max_absolute == 131008

    def test_minus_zero_is_zero(self) -> None:
        assert compare([-0.0, 1.0], [0.0, 1.0])

    def test_a_small_value_amid_large_ones_is_judged_by_the_output_s_size(self) -> None:
        assert compare([1000.0, 1e-3], [1000.0, 1.5e-3], "float32")
        refused([1000.0, 1.0], [1000.0, 1.1], "float32")


class TestShapes:
    @pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
    @pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
    def test_empty(self, dtype: str, shape: tuple[int, ...]) -> None:
        comparison = compare(np.zeros(shape, dtype), np.zeros(shape, dtype))
        assert comparison
        assert comparison.worst_index == ()

    @pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
    def test_rank_0(self, dtype: str) -> None:
        assert compare(np.array(1, dtype), np.array(1, dtype))
        comparison = refused(np.array(1, dtype), np.array(0, dtype))
        assert comparison.worst_index == ()
        assert comparison.max_absolute == 1

    def test_rank_0_nan(self) -> None:
        assert compare(np.array(np.nan), np.array(np.nan))
        refused(np.array(np.nan), np.array(1.0))

    def test_strided_views(self) -> None:
        base = np.arange(12.0).reshape(3, 4)
        comparison = refused(base.T + (base.T == 7), base.T)
        assert comparison.worst_index == (3, 1)


class TestFigures:
    def test_they_say_how_far_off_it_is(self) -> None:
        comparison = refused([1.0, 2.0, 3.5], [1.0, 2.25, 3.0], "float64", rtol=0.0, atol=0.0)
        assert comparison.max_absolute == 0.5
        assert comparison.mean_absolute == 0.25
        assert comparison.max_relative == pytest.approx(0.5 / 3)
        assert comparison.worst_index == (2,)
        assert (comparison.worst_ours, comparison.worst_reference) == (3.5, 3.0)

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "complex64"])
    def test_the_needed_tolerance_passes_and_a_smaller_one_does_not(self, dtype: str) -> None:
        generator = np.random.default_rng(3)
        reference = (generator.standard_normal(50) * 100).astype(dtype)
        ours = (reference + generator.standard_normal(50) * 9).astype(dtype)
        needed = compare(ours, reference, rtol=1e-3, atol=0.0).needed_atol
        assert needed > 0
        assert compare(ours, reference, rtol=1e-3, atol=needed)
        refused(ours, reference, rtol=1e-3, atol=needed * 0.999)

    def test_inputs_stay_as_they_are(self) -> None:
        ours, reference = np.array([1.0, np.nan]), np.array([1.0, 2.0])
        compare(ours, reference)
        np.testing.assert_array_equal(ours, [1.0, np.nan])

    def test_they_are_plain_numbers(self) -> None:
        for dtype in ("float16", "int64", "bool", "complex64"):
            comparison = compare([1, 0], [1, 1], dtype)
            assert type(comparison.worst_ours) is float
            assert type(comparison.max_absolute) is float
            assert all(type(index) is int for index in comparison.worst_index)


ARRAYS = hnp.arrays("float32", 12, elements=st.floats(-1e6, 1e6, width=32))


class TestProperties:
    @given(ARRAYS, st.integers(0, 11), st.sampled_from([-1, 1]), st.integers(1, 10**6))
    def test_a_planted_wrong_element_is_found(
        self, reference: np.ndarray, place: int, sign: int, depth: int
    ) -> None:
        judge, context = AllClose(), Context(depth)
        rtol, atol = judge.tolerances(reference, context)
        off = atol + rtol * abs(float(reference[place]))
        for share, passes in ((0.98, True), (1.02, False)):
            ours = reference.astype(np.float64)
            ours[place] += sign * off * share
            comparison = judge.compare("y", ours, reference.astype(np.float64), context)
            if off:
                planted = AllClose(rtol, atol).compare(
                    "y", ours, reference.astype(np.float64), context
                )
                assert bool(planted) is passes
                # In float64 nothing of that size is a rounding error.
                assert not comparison

    @given(ARRAYS, ARRAYS, st.tuples(*[st.floats(0, 10)] * 4))
    def test_a_larger_tolerance_passes_no_less(
        self, ours: np.ndarray, reference: np.ndarray, tolerances: tuple[float, ...]
    ) -> None:
        rtol, atol, more_rtol, more_atol = tolerances
        if compare(ours, reference, rtol=rtol, atol=atol):
            assert compare(ours, reference, rtol=rtol + more_rtol, atol=atol + more_atol)

    @given(ARRAYS, ARRAYS)
    def test_needed_atol_passes_when_it_is_used(
        self, ours: np.ndarray, reference: np.ndarray
    ) -> None:
        comparison = compare(ours, reference)
        rtol, _ = AllClose().tolerances(reference, Context())
        assert compare(ours, reference, rtol=rtol, atol=comparison.needed_atol)

    @given(st.integers(1, 10**6))
    def test_a_deeper_model_is_allowed_more(self, depth: int) -> None:
        rtol, atol = AllClose().tolerances(np.ones(3, "float32"), Context(depth))
        deeper = AllClose().tolerances(np.ones(3, "float32"), Context(4 * depth))
        assert rtol == atol
        assert deeper[0] == pytest.approx(min(2 * rtol, 1e-3))


def test_atol_follows_rtol_unless_it_is_given() -> None:
    reference = np.array([3.0, -4.0], "float32")
    size = math.sqrt(12.5)
    assert AllClose(1e-2).tolerances(reference, Context()) == (1e-2, pytest.approx(1e-2 * size))
    assert AllClose(1e-2, 0.0).tolerances(reference, Context()) == (1e-2, 0.0)
    assert AllClose(1e-2).tolerances(np.array([300]), Context()) == (1e-2, 0.0)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["rtol", "atol"])
def test_a_tolerance_that_would_pass_anything_is_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=name):
        AllClose(**{name: value})
