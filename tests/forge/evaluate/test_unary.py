from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable
from forge.evaluate.unary import cast

FLOATS = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.4999998, -0.0, np.inf], "float32")
SMALL = np.array([0.1, 0.3, 0.7, 0.99], "float32")


def test_exact_functions_agree_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    names = ("abs", "negative", "square", "ceil", "floor", "trunc", "round", "isfinite", "isinf")
    cases = {name: (getattr(op, name), (FLOATS,)) for name in names}
    cases["isnan"] = (op.isnan, (np.array([np.nan, 1.0, np.inf], "float32"),))
    cases["sqrt"] = (op.sqrt, (SMALL,))
    cases["relu"] = (op.nn.relu, (FLOATS,))
    cases["clip"] = (lambda x: op.clip(x, -1.0, 2.0), (FLOATS,))
    cases["clip_int"] = (lambda x: op.clip(x, -3, 5), (np.array([-9, 4, 9], "int64"),))
    cases["not"] = (op.logical_not, (np.array([True, False]),))
    cases["invert"] = (op.bitwise_not, (np.array([5, -1, 0], "int32"),))
    cases["sign"] = (op.sign, (FLOATS,))
    for target in ("int32", "int8", "float16", "float64", "bool"):
        cases[f"to_{target}"] = (
            lambda x, target=target: op.astype(x, target),
            (np.array([1.9, -1.9, 0.0, 100.5], "float32"),),
        )
    cases["wrap"] = (lambda x: op.astype(x, "int8"), (np.array([300, -129, 5], "int32"),))
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_array_equal(ours, compiled, err_msg=name)


def test_other_functions_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    names = (
        *("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos"),
        *("atan", "asinh", "atanh", "rsqrt", "sigmoid", "erf"),
    )
    cases = {name: (getattr(op, name), (SMALL,)) for name in names}
    cases["acosh"] = (op.acosh, (SMALL + np.float32(1.0),))
    for name, (ours, compiled) in both_ways(cases).items():
        # compiled code approximates tanh, erf and asinh to about 1e-6
        np.testing.assert_allclose(ours, compiled, rtol=5e-6, err_msg=name)


def test_functions_round_once_from_float64(both_ways) -> None:  # type: ignore[no-untyped-def]
    values = np.linspace(-3, 3, 101).astype("float32")
    ours = both_ways({"erf": (op.erf, (values,))})["erf"][0]
    assert_array_equal(ours, np.array([math.erf(v) for v in values], "float64").astype("float32"))


def test_a_cast_keeps_what_it_can() -> None:
    large = np.array([2**53 + 1, -(2**62) - 1], "int64")
    assert cast(large, np.dtype("int64")) is large
    assert cast(np.array([2.0**62, -(2.0**63)]), np.dtype("int64")).tolist() == [2**62, -(2**63)]
    assert cast(np.array([np.nan, 0.5, 0.0]), np.dtype("bool")).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("value", "target"), [(np.nan, "int32"), (np.inf, "int64"), (2.0**63, "int64"), (-1.0, "uint8")]
)
def test_a_cast_without_a_defined_result_is_refused(value: float, target: str) -> None:
    with pytest.raises(NotEvaluable):
        cast(np.array([value]), np.dtype(target))
