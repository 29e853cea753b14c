"""Operators on two or three tensors, element by element.

NaN in an operand gives NaN, of ``maximum`` and ``minimum`` too: IEEE 754-2019, ONNX, numpy and
torch agree, while compiled code lets the other operand win (apache/tvm 19572).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating

Ufunc = Callable[[Any, Any], Any]


def _register(name: str, function: Ufunc) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        left, right = call.pair()
        return np.asarray(function(left, right))


def truncated_quotient(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Divide integers rounding to zero, as C does; in integers, so exact above 2**53.

    Raises:
        NotEvaluable: A divisor is zero, or the quotient overflows.
    """
    _check_divisor(left, right)
    quotient = np.floor_divide(left, right)
    inexact = np.multiply(quotient, right) != left
    below_zero = (left < 0) != (right < 0)
    one = quotient.dtype.type(1)
    return np.asarray(np.where(inexact & below_zero, quotient + one, quotient))


def _check_divisor(left: np.ndarray, right: np.ndarray) -> None:
    if np.any(right == 0):
        raise NotEvaluable("an integer division by zero")
    if left.dtype.kind == "i":
        lowest = np.iinfo(left.dtype).min
        if np.any((left == lowest) & (right == -1)):
            raise NotEvaluable("an integer division that overflows")


def _divide(left: np.ndarray, right: np.ndarray) -> Any:
    return np.divide(left, right) if is_floating(left.dtype) else truncated_quotient(left, right)


def _floor_divide(left: np.ndarray, right: np.ndarray) -> Any:
    if is_floating(left.dtype):
        # the operator is the floor of the rounded quotient, which numpy's own corrects
        return np.floor(np.divide(left, right))
    _check_divisor(left, right)
    return np.floor_divide(left, right)


def _mod(left: np.ndarray, right: np.ndarray) -> Any:
    if not is_floating(left.dtype):
        _check_divisor(left, right)
    return np.fmod(left, right)


def _floor_mod(left: np.ndarray, right: np.ndarray) -> Any:
    if is_floating(left.dtype):
        return left - np.floor(np.divide(left, right)) * right
    _check_divisor(left, right)
    return np.remainder(left, right)


def _shift(function: Ufunc) -> Ufunc:
    def evaluate(left: np.ndarray, right: np.ndarray) -> Any:
        if np.any((right < 0) | (right >= left.dtype.itemsize * 8)):
            raise NotEvaluable("a shift by more than the operand's width")
        return function(left, right)

    return evaluate


def _in_float64(function: Ufunc) -> Ufunc:
    def evaluate(left: np.ndarray, right: np.ndarray) -> Any:
        if not is_floating(left.dtype):
            raise NotEvaluable(f"not defined on {left.dtype}")
        wide = function(left.astype(np.float64), right.astype(np.float64))
        return np.asarray(wide).astype(left.dtype)

    return evaluate


def _power(left: np.ndarray, right: np.ndarray) -> Any:
    if is_floating(left.dtype):
        return _in_float64(np.power)(left, right)
    if np.any(right < 0):
        raise NotEvaluable("an integer to a negative power")
    return np.power(left, right)


_OPERATORS: dict[str, Ufunc] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": _divide,
    "floor_divide": _floor_divide,
    "mod": _mod,
    "floor_mod": _floor_mod,
    "power": _power,
    "atan2": _in_float64(np.arctan2),
    "log_add_exp": _in_float64(np.logaddexp),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": _shift(np.left_shift),
    "right_shift": _shift(np.right_shift),
}
for _name, _function in _OPERATORS.items():
    _register(_name, _function)


@operator("ewise_fma")
def multiply_add(call: Invocation) -> Value:
    """``x * y + z``, rounded after each step."""
    return np.asarray(call.array(0) * call.array(1) + call.array(2))
