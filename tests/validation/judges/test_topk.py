from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge import InvalidInput
from validation.judges.protocol import Comparison, Context
from validation.judges.topk import TopK


def compare(ours: Any, reference: Any, k: int, dtype: Any = "float32", **given: Any) -> Comparison:
    judge = TopK(k, **given)
    return judge.compare("y", np.asarray(ours, dtype), np.asarray(reference, dtype), Context())


@given(st.permutations(range(8)), st.permutations(range(8)), st.integers(1, 9))
def test_well_separated_rows_pass_exactly_when_the_best_are_the_same(
    first: list[int], second: list[int], k: int
) -> None:
    best = [sorted(range(8), key=lambda i: -row[i])[:k] for row in (first, second)]
    assert bool(compare(first, second, k)) is (best[0] == best[1])


def test_values_do_not_matter_and_order_does() -> None:
    assert compare([[9.0, 0.0, 8.0]], [[3.0, 1.0, 2.0]], 3)
    assert not compare([[8.0, 0.0, 9.0]], [[3.0, 1.0, 2.0]], 2)
    # The same set in another order; the best alone; the third, which is not asked for.
    assert not compare([2.0, 3.0, 1.0], [3.0, 2.0, 1.0], 2)
    assert compare([3.0, 1.0, 2.0], [3.0, 2.0, 1.0], 1)


def test_ties_within_the_resolution_may_change_places_and_others_not() -> None:
    reference = [1.0, 1.0 + 2e-7, 0.5]
    assert compare([1.0, 0.9, 0.5], reference, 3)
    assert not compare([1.0, 0.9, 0.5], [1.0, 1.0 + 2e-5, 0.5], 3)


def test_a_constant_output_has_no_order() -> None:
    # Ours, in order of index, would be the reference's: ties count in the worst order.
    assert not compare([1.0, 1.0, 1.0], [3.0, 2.0, 1.0], 1)
    assert compare([1.0, 1.0, 0.0], [2.0, 2.0, 1.0], 2)


def test_the_row_is_named() -> None:
    reference = np.arange(24.0).reshape(2, 3, 4)
    ours = reference.copy()
    ours[1, 2] = ours[1, 2, ::-1]
    comparison = compare(ours, reference, 1)
    assert comparison.message == "row [1, 2]: the best are [0], the reference's [3]"
    ours[0, 1] = ours[0, 1, ::-1]
    assert compare(ours, reference, 1).message.startswith("2 rows have another order; row [0, 1]")


def test_large_integers_are_ranked_exactly() -> None:
    assert not compare([2**60, 2**60 + 1], [2**60 + 1, 2**60], 1, "int64")
    assert compare([2**60, 2**60 + 1], [2**60, 2**60 + 1], 1, "int64")
    assert not compare([0, 2**64 - 1], [1, 0], 1, "uint64")
    assert compare([True, False], [True, False], 1, "bool")


def test_infinity_and_nan() -> None:
    low, nan = -np.inf, np.nan
    assert compare([low, 1.0, 2.0], [low, 1.0, 2.0], 3)
    assert compare([np.inf, 1.0, 2.0], [np.inf, 1.0, 2.0], 3)
    assert compare([nan, 1.0, 2.0], [nan, 1.0, 2.0], 3)
    assert not compare([nan, 2.0, 1.0], [nan, 1.0, 2.0], 3)
    assert not compare([nan, 1.0, 2.0], [0.0, 1.0, 2.0], 1)
    assert not compare([9.0, 1.0, 2.0], [nan, 1.0, 2.0], 1)
    assert compare([9.0, 1.0, 2.0], [nan, 1.0, 2.0], 1, nonfinite="ignore-nan")
    assert not compare([9.0, 2.0, 1.0], [nan, 1.0, 2.0], 1, nonfinite="ignore-nan")
    assert compare([9.0, 1.0, 2.0], [low, 1.0, 2.0], 1, nonfinite="ignore")


@pytest.mark.parametrize("array", [np.float32(1), np.ones((3, 1)), np.ones(3, "complex64")])
def test_outputs_without_an_order_are_refused_by_name(array: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="'y'"):
        TopK().compare("y", np.asarray(array), np.asarray(array), Context())


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_no_count(k: float) -> None:
    with pytest.raises(InvalidInput, match="k is"):
        TopK(k)  # type: ignore[arg-type]
