from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from forge.evaluate import NotEvaluable
from forge.evaluate.layouts import padded, reordered, sides, spatial_letters, windows

DATA = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)


def test_layouts_are_turned_into_one_another() -> None:
    assert spatial_letters("NDHWC") == "DHW"
    assert spatial_letters("NCW") == "W"
    assert_array_equal(reordered(DATA, "NCHW", "NHWC"), DATA.transpose(0, 2, 3, 1))
    assert_array_equal(reordered(reordered(DATA, "HWIO", "OIHW"), "OIHW", "HWIO"), DATA)


@pytest.mark.parametrize(("layout", "order"), [("NCHW4c", "NCHW"), ("NCH", "NCH"), ("NCHW", "NCW")])
def test_a_layout_that_does_not_fit_is_refused(layout: str, order: str) -> None:
    with pytest.raises(NotEvaluable, match=layout):
        reordered(DATA, layout, order)


def test_windows_are_views_of_what_a_kernel_sees() -> None:
    seen = windows(DATA, (2, 3), (1, 2), (2, 1))
    assert seen.shape == (2, 3, 2, 2, 2, 3)
    assert np.shares_memory(seen, DATA)
    for row, column in np.ndindex(2, 2):
        expected = DATA[:, :, row : row + 3 : 2, 2 * column : 2 * column + 3]
        assert_array_equal(seen[:, :, row, column], expected)


def test_padding_agrees_with_numpy() -> None:
    pairs = sides((1, 0, 2, 3))
    assert pairs == [(1, 2), (0, 3)]
    expected = np.pad(DATA, [(0, 0), (0, 0), *pairs], constant_values=-7)
    assert_array_equal(padded(DATA, pairs, -7), expected)
    assert padded(DATA, [(0, 0), (0, 0)]) is DATA
    with pytest.raises(NotEvaluable, match="negative"):
        padded(DATA, [(-1, 0), (0, 0)])
