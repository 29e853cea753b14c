from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tvm
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import Invocation, NotEvaluable
from forge.evaluate.arithmetic import truncated_quotient
from forge.evaluate.registry import OPERATORS

SIGNS = np.array([7, -7, 7, -7, 6, -6, 1, 0], "int64")
DIVISORS = np.array([2, 2, -2, -2, 3, 3, 5, -9], "int64")
FLOATS = np.array([5.5, -5.5, 5.5, -5.5, 0.0, 1e-3, -7.25], "float32")
FLOAT_DIVISORS = np.array([2, 2, -2, -2, 3, 0.7, 0.1], "float32")


def evaluate(name: str, *args: object, dtype: str = "float32") -> np.ndarray:
    shape = np.shape(args[0])
    call = Invocation(args, None, relax.TensorType(shape, dtype))  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        result = OPERATORS[f"relax.{name}"](call)
    assert isinstance(result, np.ndarray)
    return result


def test_agrees_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    large = np.array([2**62 + 1, -(2**62) - 3, 2**53 + 1], "int64")
    small = np.array([3, 3, 2], "int64")
    cases = {
        name: (getattr(op, name), (SIGNS, DIVISORS))
        for name in ("add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod")
    }
    cases |= {
        f"large_{name}": (getattr(op, name), (large, small))
        for name in ("divide", "floor_divide", "mod", "floor_mod", "subtract")
    }
    cases |= {
        f"float_{name}": (getattr(op, name), (FLOATS, FLOAT_DIVISORS))
        for name in ("add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod")
    }
    cases |= {
        f"bits_{name}": (getattr(op, name), (SIGNS, np.abs(DIVISORS)))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift")
    }
    cases |= {
        name: (getattr(op, name), (FLOATS, FLOAT_DIVISORS)) for name in ("maximum", "minimum")
    }
    half = FLOATS.astype("float16"), FLOAT_DIVISORS.astype("float16")
    cases |= {f"half_{name}": (getattr(op, name), half) for name in ("add", "multiply", "divide")}
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_array_equal(ours, compiled, err_msg=name)


def test_transcendental_functions_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    left, right = np.abs(FLOATS) + np.float32(0.1), FLOAT_DIVISORS
    cases = {name: (getattr(op, name), (left, right)) for name in ("power", "atan2", "log_add_exp")}
    for name, (ours, compiled) in both_ways(cases).items():
        # compiled code calls the C library in float32, which is within a few ULP
        np.testing.assert_allclose(ours, compiled, rtol=2e-6, err_msg=name)


def test_truncated_quotient_is_exact_beyond_float64() -> None:
    left = np.array([2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1], "int64")
    right = np.array([2, 3, 1, 1], "int64")
    expected = [(2**63 - 1) // 2, -(2**63 // 3), 2**53 + 1, -(2**53) - 1]
    assert truncated_quotient(left, right).tolist() == expected


@pytest.mark.parametrize("name", ["divide", "floor_divide", "mod", "floor_mod"])
def test_integer_division_without_a_result_is_refused(name: str) -> None:
    one = np.array([1], "int32")
    with pytest.raises(NotEvaluable, match="zero"):
        evaluate(name, one, np.array([0], "int32"), dtype="int32")
    with pytest.raises(NotEvaluable, match="overflow"):
        evaluate(name, np.array([-(2**31)], "int32"), np.array([-1], "int32"), dtype="int32")


def test_float_division_by_zero_is_infinite() -> None:
    result = evaluate("divide", np.array([1.0, -1.0, 0.0], "float32"), np.zeros(3, "float32"))
    assert_array_equal(result, np.array([np.inf, -np.inf, np.nan], "float32"))


def test_special_values_survive() -> None:
    zeros = evaluate("multiply", np.array([-1.0], "float32"), np.array([0.0], "float32"))
    assert np.signbit(zeros[0])
    nan = np.array([np.nan, 1.0], "float32")
    assert np.all(np.isnan(evaluate("maximum", nan, nan[::-1])))
    assert np.all(np.isnan(evaluate("minimum", nan, nan[::-1])))


@pytest.mark.parametrize("amount", [-1, 32])
def test_a_shift_beyond_the_width_is_refused(amount: int) -> None:
    with pytest.raises(NotEvaluable):
        evaluate("left_shift", np.array([1], "int32"), np.array([amount], "int32"), dtype="int32")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_round_once_an_operator(dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=200).astype(kind) for _ in range(2))
    for name, exact in (("add", np.add), ("multiply", np.multiply), ("divide", np.divide)):
        wide = exact(left.astype("float64"), right.astype("float64")).astype("float32")
        result = evaluate(name, left, right, dtype=dtype)
        assert result.dtype == kind
        assert_array_equal(result.astype("float32"), wide.astype(kind).astype("float32"))


def test_integers_are_raised_to_a_power() -> None:
    # TVM raises floats only
    base, power = np.array([3, -2, 2**40 + 1, 10], "int64"), np.array([4, 3, 2, 19], "int64")
    expected = np.array([81, -8, 2**41 + 1 + 0 * 2**80, 10**19 - 2**64], "object").astype("int64")
    assert_array_equal(evaluate("power", base, power, dtype="int64"), expected)
    with pytest.raises(NotEvaluable, match="negative"):
        evaluate("power", base, -power, dtype="int64")


def test_a_scalar_takes_the_dtype_of_the_tensor(both_ways) -> None:  # type: ignore[no-untyped-def]
    half = relax.prim_value(tvm.tirx.FloatImm("float32", 0.5))
    results = both_ways({"add": (lambda x: op.add(x, half), (FLOATS,))})
    assert_array_equal(*results["add"])
    assert evaluate("less", 3, np.array([2**53 + 1], "int64"), dtype="bool").tolist() == [True]
