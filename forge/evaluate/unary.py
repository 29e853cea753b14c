"""Operators on one tensor, element by element, and casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.special import erf, sigmoid
from forge.evaluate.values import Value, is_floating, numpy_dtype

Function = Callable[[Any], Any]


def _register_exact(name: str, function: Function) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        return np.asarray(function(call.array(0)))


def _register_in_float64(name: str, function: Function) -> None:
    """Register a function that is computed in float64 and rounded once to its operand's dtype."""

    @operator(name)
    def evaluate(call: Invocation) -> Value:
        array = call.array(0)
        if not is_floating(array.dtype):
            raise NotEvaluable(f"not defined on {array.dtype}")
        return np.asarray(function(array.astype(np.float64))).astype(array.dtype)


def _rounding(function: Function) -> Function:
    return lambda array: function(array) if is_floating(array.dtype) else array


def _predicate(function: Function, of_integers: bool) -> Function:
    def evaluate(array: np.ndarray) -> Any:
        if is_floating(array.dtype):
            return function(array)
        return np.full(array.shape, of_integers)

    return evaluate


_EXACT: dict[str, Function] = {
    "abs": np.abs,
    "negative": np.negative,
    "square": np.square,
    "sqrt": np.sqrt,
    "ceil": _rounding(np.ceil),
    "floor": _rounding(np.floor),
    "trunc": _rounding(np.trunc),
    "round": _rounding(np.rint),
    "sign": np.sign,
    "bitwise_not": np.invert,
    "logical_not": np.logical_not,
    "isnan": _predicate(np.isnan, False),
    "isinf": _predicate(np.isinf, False),
    "isfinite": _predicate(np.isfinite, True),
}
for _name, _function in _EXACT.items():
    _register_exact(_name, _function)

_IN_FLOAT64: dict[str, Function] = {
    "exp": np.exp,
    "log": np.log,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "rsqrt": lambda array: 1.0 / np.sqrt(array),
    "sigmoid": sigmoid,
    "erf": erf,
}
for _name, _function in _IN_FLOAT64.items():
    _register_in_float64(_name, _function)


@operator("clip")
def clip(call: Invocation) -> Value:
    """Limit a tensor to a range; NaN stays NaN."""
    array = call.array(0)
    low, high = (_bound(call.scalar(index), array.dtype) for index in (1, 2))
    return np.asarray(np.minimum(np.maximum(array, low), high))


def _bound(value: Any, dtype: np.dtype) -> np.ndarray:
    if not is_floating(dtype):
        info = np.iinfo(dtype)
        if not info.min <= value <= info.max or value != int(value):
            raise NotEvaluable(f"the limit {value} is no {dtype}")
    return np.asarray(value).astype(dtype)


@operator("astype")
def astype(call: Invocation) -> Value:
    """Cast, where every value has a defined result in the target dtype."""
    return cast(call.array(0), call.widen(str(call.attrs.dtype)))


def cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast as C does: floats to integers toward zero, integers modulo 2**bits.

    Raises:
        NotEvaluable: A float that is out of the integer's range, or NaN.
    """
    if array.dtype == dtype:
        return array
    if is_floating(array.dtype) and dtype.kind in "iu":
        whole = np.trunc(array.astype(np.float64))
        info = np.iinfo(dtype)
        # 2.0**63 is what the largest int64 rounds to, and is out of range itself
        if not np.all((whole >= float(info.min)) & (whole < 2.0 * (int(info.max) // 2 + 1))):
            raise NotEvaluable(f"a cast to {dtype} of a value that it cannot hold")
        return whole.astype(dtype)
    if dtype == numpy_dtype("bool"):
        return np.asarray(array != array.dtype.type(0))
    return array.astype(dtype)
