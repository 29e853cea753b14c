from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(0)
FLOATS = RNG.normal(size=(3, 4, 5)).astype("float32")
INTS = RNG.integers(-(2**61), 2**61, size=(3, 4)).astype("int64")


def over(name: str, axes: list[int] | None = None) -> Callable[[Any], Any]:
    return lambda data: getattr(op, name)(data, axes)


def test_integers_agree_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases = {name: (over(name, [1]), (INTS,)) for name in ("sum", "max")}
    cases |= {name: (over(name), (INTS,)) for name in ("min", "prod")}
    cases["keep"] = (lambda x: op.sum(x, [0], keepdims=True), (INTS,))
    cases["narrow"] = (lambda x: op.sum(x, [0]), (np.full((300,), 100, "int8"),))
    cases["argmax"] = (lambda x: op.argmax(x, 1), (INTS,))
    cases["argmin"] = (lambda x: op.argmin(x, 0, True), (INTS,))
    cases["tie"] = (lambda x: op.argmax(x, 0), (np.array([1, 3, 3], "int32"),))
    cases["cumsum"] = (lambda x: op.cumsum(x, 1), (INTS,))
    cases["cumsum_wide"] = (lambda x: op.cumsum(x, 0, "int64"), (np.array([100, 100], "int8"),))
    cases["exclusive"] = (lambda x: op.cumsum(x, 1, exclusive=True), (INTS,))
    cases["cumprod"] = (lambda x: op.cumprod(x, 0), (INTS,))
    cases["negative"] = (lambda x: op.max(x, [-2]), (INTS,))
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_array_equal(ours, compiled, err_msg=name)


def test_floats_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    names = ("sum", "mean", "variance", "std", "prod", "max", "min")
    cases = {name: (over(name, [0, 2]), (FLOATS,)) for name in names}
    for name, (ours, compiled) in both_ways(cases).items():
        # compiled code sums in float32, in order
        np.testing.assert_allclose(ours, compiled, rtol=1e-5, atol=1e-6, err_msg=name)


def test_sums_are_rounded_once_from_float64(both_ways) -> None:  # type: ignore[no-untyped-def]
    values = np.array([1e8, 1.0, -1e8, 1.0], "float32")
    assert both_ways({"sum": (lambda x: op.sum(x), (values,))})["sum"][0] == 2.0


def test_the_maximum_of_infinities_is_kept(both_ways) -> None:  # type: ignore[no-untyped-def]
    lowest = np.array([-np.inf, -np.inf], "float32")
    ours = both_ways({"max": (lambda x: op.max(x), (lowest,))})["max"][0]
    assert ours == -np.inf


def test_an_average_of_integers_is_rounded_to_zero(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code gives int64 whatever the integers are, against the operator's own type
    data = np.array([[-7, -1, 0, 1], [9, 1, 1, 0]], "int32")
    average = evaluated(over("mean", [1]), data)
    assert average.dtype == np.int32
    assert_array_equal(average, [-1, 2])


def test_nan_spoils_an_extreme_and_its_position_has_no_value(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code has NaN or not, by where it stands (apache/tvm 19572)
    for row in ([np.nan, 1.0], [1.0, np.nan]):
        data = np.array(row, "float32")
        assert np.isnan(evaluated(lambda x: op.max(x), data))
        assert np.isnan(evaluated(lambda x: op.min(x), data))
        with pytest.raises(NotEvaluable, match=r"argmax: .*NaN"):
            evaluated(op.argmax, data)


def test_the_first_of_equal_extremes_is_found_as_in_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    data = np.array([[1, 3, 3, 0], [-np.inf, np.inf, 2, np.inf]], "float32")
    for name in ("argmax", "argmin"):
        expected = getattr(torch, name)(torch.from_numpy(data), -1)
        ours = evaluated(lambda x, n=name: getattr(op, n)(x, -1), data)
        assert_array_equal(ours, expected)
