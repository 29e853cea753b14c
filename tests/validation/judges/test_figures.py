from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from validation.judges import blocks
from validation.judges.figures import measure
from validation.judges.protocol import Comparison

DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int64", "uint64", "bool", "complex64"]


def figures(ours: Any, reference: Any, dtype: Any = None, **given: Any) -> Comparison:
    measured = measure(np.asarray(ours, dtype), np.asarray(reference, dtype), **given)
    return measured.verdict("y", "none", measured.fault)


@st.composite
def pairs(draw: Any, dtypes: list[str], finite: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays of one shape and dtype, of which many elements are the same."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, max_side=4))
    options = {}
    if dtype.kind in "fc":
        options = {"allow_nan": not finite, "allow_infinity": not finite}
    elements = hnp.from_dtype(dtype, **options)
    reference = draw(hnp.arrays(dtype, shape, elements=elements))
    other = draw(hnp.arrays(dtype, shape, elements=elements))
    same = draw(hnp.arrays(bool, shape))
    return np.where(same, reference, other), reference


@given(pair=pairs(["float16", "float32", "int8", "uint8", "int64", "uint64", "bool"]))
def test_figures_agree_with_exact_arithmetic(pair: tuple[np.ndarray, np.ndarray]) -> None:
    ours, reference = pair
    result = figures(ours, reference)
    a = [_exact(value) for value in ours.reshape(-1)]
    b = [_exact(value) for value in reference.reshape(-1)]
    differences = [abs(x - y) for x, y in zip(a, b)]
    relative = [d / abs(y) for d, y in zip(differences, b) if y]
    assert result.max_absolute == pytest.approx(float(max(differences)), rel=1e-12)
    mean = sum(differences) / len(differences)
    assert result.mean_absolute == pytest.approx(float(mean), rel=1e-12)
    assert result.max_relative == pytest.approx(float(max(relative, default=0)), rel=1e-12)
    if relative:
        mean = sum(relative) / len(relative)
        assert result.mean_relative == pytest.approx(float(mean), rel=1e-12)
    assert differences[_flat(result, ours)] == pytest.approx(max(differences), rel=1e-15)
    assert (result.worst_ours, result.worst_reference) == (
        float(a[_flat(result, ours)]),
        float(b[_flat(result, ours)]),
    )
    assert sum(result.histogram) == ours.size
    assert result.histogram[0] == sum(d == 0 for d in differences)
    assert result.needed_atol == result.max_absolute


def _exact(value: Any) -> Fraction:
    return Fraction(int(value)) if value.dtype.kind in "biu" else Fraction(float(value))


def _flat(result: Comparison, array: np.ndarray) -> int:
    return int(np.ravel_multi_index(result.worst_index, array.shape)) if array.ndim else 0


@given(pair=pairs(DTYPES), rtol=st.floats(0, 10), atol=st.floats(0, 1e6))
def test_needed_tolerances_pass_when_they_are_used(
    pair: tuple[np.ndarray, np.ndarray], rtol: float, atol: float
) -> None:
    ours, reference = pair
    result = figures(ours, reference, rtol=rtol, atol=atol)
    if math.isfinite(result.needed_atol):
        assert figures(ours, reference, rtol=rtol, atol=result.needed_atol)
    if math.isfinite(result.needed_rtol):
        assert figures(ours, reference, rtol=result.needed_rtol, atol=atol)
    if not result:
        assert result.needed_atol > atol or result.needed_rtol > rtol


@given(pair=pairs(DTYPES), rtol=st.floats(0, 10))
def test_a_smaller_tolerance_than_needed_does_not_pass(
    pair: tuple[np.ndarray, np.ndarray], rtol: float
) -> None:
    result = figures(*pair, rtol=rtol)
    if result.needed_atol > 1e-300:
        smaller = min(result.needed_atol, 1e308) * (1 - 1e-9)
        assert not figures(*pair, rtol=rtol, atol=smaller)
    if result.needed_rtol > 1e-300:
        assert not figures(*pair, rtol=min(result.needed_rtol, 1e308) * (1 - 1e-9))


@given(pair=pairs(DTYPES, finite=False))
def test_blocks_do_not_change_what_is_measured(pair: tuple[np.ndarray, np.ndarray]) -> None:
    whole = measure(*pair)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_SIZE", 3)
        parts = measure(*pair)
    assert (parts.misplaced, parts.failing) == (whole.misplaced, whole.failing)
    for name in ("worst_index", "histogram", "nan", "infinite", "max_absolute", "max_ulp"):
        assert getattr(parts.figures, name) == getattr(whole.figures, name), name
    for name in ("mean_absolute", "mean_relative", "mean_ulp", "needed_atol", "needed_rtol"):
        found, expected = getattr(parts.figures, name), getattr(whole.figures, name)
        assert found == pytest.approx(expected, rel=1e-9), name


@given(pair=pairs(["float16", "float32", "float64", "complex64"], finite=False))
def test_not_finite_elements_are_counted_and_must_be_the_same(
    pair: tuple[np.ndarray, np.ndarray],
) -> None:
    ours, reference = pair
    measured = measure(ours, reference)
    for side, array in enumerate(pair):
        assert measured.figures.nan[side] == np.isnan(array).sum()
        assert measured.figures.infinite[side] == (np.isinf(array) & ~np.isnan(array)).sum()
    flat = zip(ours.reshape(-1), reference.reshape(-1))
    wrong = sum(_misplaced(complex(a), complex(b)) for a, b in flat)
    assert measured.misplaced == wrong
    unjudged = (~np.isfinite(ours) | ~np.isfinite(reference)).sum()
    assert measured.figures.histogram[-1] == unjudged
    assert (measured.figures.needed_atol == math.inf) >= bool(wrong)


def _misplaced(a: complex, b: complex) -> bool:
    if math.isfinite(a.real + a.imag) and math.isfinite(b.real + b.imag):
        return False
    if all(map(math.isfinite, (a.real, a.imag, b.real, b.imag))):
        return False
    parts = ((a.real, b.real), (a.imag, b.imag))
    return any(x != y and not (math.isnan(x) and math.isnan(y)) for x, y in parts)


def test_the_histogram_s_edges() -> None:
    # The root mean square of the reference is 1.
    reference = np.ones(12)
    off = [0, 5e-9, 5e-8, 5e-7, 5e-6, 5e-5, 5e-4, 5e-3, 5e-2, 0.5, 5.0, 50.0]
    result = figures(reference + off, reference)
    assert result.histogram == (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 0)


def test_a_histogram_over_zeros_and_over_what_is_not_finite() -> None:
    assert figures([0.0, 1e-30], [0.0, 0.0]).histogram == (1, *[0] * 9, 1, 0)
    assert figures([np.nan, 1.0], [np.nan, 1.0]).histogram == (1, *[0] * 10, 1)


def test_exactness_of_large_integers() -> None:
    result = figures([2**53 + 1, 5], [2**53, 5], "int64")
    assert result.max_absolute == result.max_ulp == 1
    # A float cannot show the difference, so the message does.
    assert result.worst_ours == result.worst_reference
    assert f"exactly {2**53 + 1}, reference {2**53}" in result.message


def test_values_near_the_largest_float64() -> None:
    largest = float(np.finfo("float64").max)
    result = figures([largest, 1.0], [-largest, 1.0], rtol=1.5)
    assert not result
    assert result.max_absolute == math.inf
    assert result.max_relative == 2
    assert result.needed_rtol == pytest.approx(2)
    assert figures([largest, 1.0], [-largest, 1.0], rtol=2.1)
    assert not figures([largest, 1.0], [-largest, 1.0], rtol=1.9)
    # 1.1 times the largest overflows; the difference to the reference is beyond it all the same.
    assert not figures([largest], [-largest], rtol=1.1)


def test_a_small_value_beside_the_largest_is_not_lost() -> None:
    assert not figures([1.7e308, 5e-324], [1.7e308, 0.0])
    assert figures([1.7e308, 3e-307], [1.7e308, 2e-307]).max_absolute == pytest.approx(1e-307)


def test_smallest_values() -> None:
    tiny = 5e-324
    result = figures([2 * tiny, 1.0], [tiny, 1.0])
    assert result.max_absolute == tiny
    assert result.max_relative == 1
    assert result.max_ulp == 1


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16", "float8_e4m3fn", "int4"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 3)])
def test_every_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    ones, zeros = np.ones(shape).astype(kind), np.zeros(shape).astype(kind)
    equal, unequal = figures(ones, ones.copy()), figures(zeros, ones)
    size = int(np.prod(shape))
    assert equal.histogram == (size, *[0] * 11)
    assert equal.max_absolute == 0
    assert unequal.max_absolute == unequal.mean_absolute == bool(size)
    assert bool(unequal) is not bool(size)
    assert len(unequal.worst_index) == (len(shape) if size else 0)


def test_text_is_refused() -> None:
    from forge import InvalidInput

    with pytest.raises(InvalidInput, match="dtype"):
        figures(["a"], ["a"])


def test_the_first_failing_element_is_named_where_it_is_not_the_worst() -> None:
    result = figures([1.5, 1030.0], [1.0, 1000.0], rtol=0.04, atol=0.01)
    assert result.worst_index == (1,)
    assert "1 of 2 elements differ, first at [0]" in result.message
