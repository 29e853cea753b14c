from __future__ import annotations

import math

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from forge.evaluate.special import erf, sigmoid


def test_the_error_function_is_that_of_the_c_library() -> None:
    places = np.array([-np.inf, -3.0, -1e-300, 0.0, 0.5, 6.0, np.inf, np.nan])
    assert_array_equal(erf(places), [math.erf(place) for place in places])
    assert erf(np.zeros((0, 2))).shape == (0, 2)


def test_a_sigmoid_neither_overflows_nor_loses_small_values() -> None:
    with np.errstate(over="raise", invalid="raise"):
        ours = sigmoid(np.array([-800.0, -40.0, 0.0, 40.0, 800.0]))
    assert_allclose(ours, [0.0, math.exp(-40.0), 0.5, 1.0, 1.0], rtol=1e-15)
    assert np.isnan(sigmoid(np.array([np.nan]))[0])
    assert_array_equal(sigmoid(np.array([-np.inf, np.inf])), [0.0, 1.0])
