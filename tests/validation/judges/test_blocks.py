from __future__ import annotations

import numpy as np
import pytest

from validation.judges import blocks
from validation.judges.blocks import scaled_pairs, sum_of_squares


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_sums_of_squares_keep_their_ratio_at_any_size(size: float, dtype: str) -> None:
    ours, reference = (np.array(values, dtype) * size for values in ([3.0, 4.0], [6.0, 8.0]))
    ((a, b),) = scaled_pairs(ours, reference)
    assert sum_of_squares(b) / sum_of_squares(a) == pytest.approx(4)
    assert np.isfinite(sum_of_squares(b))
    assert sum_of_squares(a) > 0


def test_only_what_is_finite_in_both_is_paired() -> None:
    ((a, b),) = scaled_pairs(np.array([1.0, np.nan, 2.0, 4.0]), np.array([1.0, 1.0, np.inf, 2.0]))
    np.testing.assert_array_equal(a / b, [1.0, 2.0])


def test_a_view_is_walked_in_its_own_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_SIZE", 4)
    array = np.arange(12.0).reshape(3, 4).T
    found = list(blocks.blocks(array, array))
    assert [block.start for block in found] == [0, 4, 8]
    np.testing.assert_array_equal(
        np.concatenate([b.reference for b in found]), np.ascontiguousarray(array).reshape(-1)
    )


def test_large_values_are_measured_in_a_larger_unit_and_small_ones_beside_them_not() -> None:
    ours, reference = np.array([1.7e308, 5e-324]), np.array([-1.7e308, 0.0])
    (block,) = blocks.blocks(ours, reference)
    units = np.broadcast_to(block.unit, 2)
    assert units.tolist() == [2.0**64, 1.0]
    assert block.difference[0] / block.magnitude[0] == 2
    assert block.difference[1] == 5e-324
