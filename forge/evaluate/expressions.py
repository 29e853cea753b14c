"""Evaluate scalar expressions of TVM's low-level functions, for all loop positions at once.

What a condition guards is computed at every position, with the positions where it does not
hold masked out: there no index and no divisor is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tvm
from tvm import tirx

from forge.evaluate.arithmetic import truncated_quotient
from forge.evaluate.registry import NotEvaluable
from forge.evaluate.special import erf, sigmoid
from forge.evaluate.unary import cast
from forge.evaluate.values import is_floating, numpy_dtype

Function = Callable[..., Any]
Mask = np.ndarray | None

_BINARY: dict[type, Function] = {
    tirx.Add: np.add,
    tirx.Sub: np.subtract,
    tirx.Mul: np.multiply,
    # NaN stays NaN, which compiled code lets a maximum swallow (apache/tvm 19572)
    tirx.Min: np.minimum,
    tirx.Max: np.maximum,
    tirx.EQ: np.equal,
    tirx.NE: np.not_equal,
    tirx.LT: np.less,
    tirx.LE: np.less_equal,
    tirx.GT: np.greater,
    tirx.GE: np.greater_equal,
    tirx.BitwiseAnd: np.bitwise_and,
    tirx.BitwiseOr: np.bitwise_or,
    tirx.BitwiseXor: np.bitwise_xor,
}
_DIVISIONS: dict[type, tuple[Function, Function]] = {
    # of floats, of integers
    tirx.Div: (np.divide, truncated_quotient),
    tirx.Mod: (np.fmod, np.fmod),
    tirx.FloorDiv: (np.floor_divide, np.floor_divide),
    tirx.FloorMod: (np.remainder, np.remainder),
}
_EXACT: dict[str, Function] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "nearbyint": np.rint,
    "fabs": np.abs,
    "sqrt": np.sqrt,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "fmod": np.fmod,
    "likely": lambda condition: condition,
}
_IN_FLOAT64: dict[str, Function] = {
    "exp": np.exp,
    "log": np.log,
    "pow": np.power,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "atan2": np.arctan2,
    "rsqrt": lambda value: 1.0 / np.sqrt(value),
    "sigmoid": sigmoid,
    "erf": erf,
}
_CHOICE = "if_then_else"
# which fields of a node are expressions that it is computed from
_PARTS: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((*_BINARY, *_DIVISIONS, tirx.And, tirx.Or), ("a", "b")),
    tirx.Not: ("a",),
    tirx.Cast: ("value",),
    tirx.Select: ("condition", "true_value", "false_value"),
    tirx.Let: ("value", "body"),
    tirx.IntImm: (),
    tirx.FloatImm: (),
    tvm.ir.Var: (),
}


class Scope:
    """The scalars and buffers that an expression may read.

    Attributes:
        scalars: Values of scalar variables; arrays that broadcast together where they vary.
        buffers: The arrays behind buffer variables.
    """

    def __init__(self, width: np.dtype | None = None) -> None:
        self.scalars: dict[int, np.ndarray] = {}
        self.buffers: dict[int, np.ndarray] = {}
        self._width = width

    def bind(self, variable: Any, value: Any) -> None:
        """Give a scalar variable its value."""
        self.scalars[variable.__chandle__()] = np.asarray(value)

    def dtype(self, expr: Any) -> np.dtype:
        """Give the dtype in which an expression is evaluated."""
        return self.dtype_of(str(expr.ty))

    def dtype_of(self, name: str) -> np.dtype:
        """Give the dtype in which to evaluate where the program says ``name``."""
        dtype = numpy_dtype(name)
        return self._width if self._width is not None and is_floating(dtype) else dtype

    def buffer(self, variable: Any) -> np.ndarray:
        """Give the array behind a buffer."""
        return self.buffers[variable.__chandle__()]

    def indices(self, exprs: Any, shape: tuple[int, ...], mask: Mask) -> tuple[np.ndarray, ...]:
        """Evaluate indices into a buffer.

        Raises:
            NotEvaluable: One is out of range where the mask lets it count.
        """
        found = []
        for expr, size in zip(exprs, shape, strict=True):
            index = self.value(expr, mask)
            outside = (index < 0) | (index >= size)
            if np.any(outside if mask is None else outside & mask):
                raise NotEvaluable("an index out of range")
            found.append(np.clip(index, 0, max(size - 1, 0)))
        return tuple(found)

    def value(self, expr: Any, mask: Mask = None) -> np.ndarray:
        """Evaluate an expression.

        Args:
            expr: A scalar expression.
            mask: Where the value counts; None for everywhere.

        Raises:
            NotEvaluable: It holds something unknown, or has no defined value.
        """
        return np.asarray(self._value(expr, mask)).astype(self.dtype(expr), copy=False)

    def _value(self, expr: Any, mask: Mask) -> Any:
        if isinstance(expr, tirx.IntImm | tirx.FloatImm):
            return expr.value
        if isinstance(expr, tvm.ir.Var):
            if expr.__chandle__() not in self.scalars:
                raise NotEvaluable(f"the scalar {expr.name} is not known")
            return self.scalars[expr.__chandle__()]
        if isinstance(expr, tvm.ir.TensorLoad):
            array = self.buffer(expr.source)
            return array[self.indices(expr.indices, array.shape, mask)]
        if isinstance(expr, tirx.Cast):
            return cast(_counting(self.value(expr.value, mask), mask), self.dtype(expr))
        if isinstance(expr, tirx.Select):
            return self._choice(expr.condition, expr.true_value, expr.false_value, mask)
        if isinstance(expr, tirx.Let):
            self.bind(expr.var, self.value(expr.value, mask))
            return self._value(expr.body, mask)
        if isinstance(expr, tirx.Not):
            return np.logical_not(self.value(expr.a, mask))
        if isinstance(expr, tirx.And | tirx.Or):
            left = self.value(expr.a, mask)
            if isinstance(expr, tirx.And):
                return left & self.value(expr.b, _both(mask, left))
            return left | self.value(expr.b, _both(mask, ~left))
        if type(expr) in _DIVISIONS:
            return self._division(expr, mask)
        if type(expr) in _BINARY:
            return _BINARY[type(expr)](self.value(expr.a, mask), self.value(expr.b, mask))
        if isinstance(expr, tvm.ir.Call):
            return self._call(expr, mask)
        raise NotEvaluable(f"an expression of {type(expr).__name__}")

    def _choice(self, condition: Any, true: Any, false: Any, mask: Mask) -> Any:
        holds = self.value(condition, mask)
        taken = self.value(true, _both(mask, holds))
        return np.where(holds, taken, self.value(false, _both(mask, ~holds)))

    def _division(self, expr: Any, mask: Mask) -> Any:
        left, right = self.value(expr.a, mask), self.value(expr.b, mask)
        of_floats, of_integers = _DIVISIONS[type(expr)]
        if is_floating(left.dtype):
            return of_floats(left, right)
        if mask is not None:
            right = np.where(mask, right, right.dtype.type(1))
        if np.any(right == 0):
            raise NotEvaluable("an integer division by zero")
        return of_integers(*np.broadcast_arrays(left, right))

    def _call(self, expr: Any, mask: Mask) -> Any:
        name = _name(expr)
        if name == _CHOICE:
            condition, true, false = expr.args
            return self._choice(condition, true, false, mask)
        if name not in _EXACT and name not in _IN_FLOAT64:
            raise NotEvaluable(f"the function {name}")
        args = [self.value(arg, mask) for arg in expr.args]
        if name in _EXACT:
            return _EXACT[name](*args)
        return _IN_FLOAT64[name](*(arg.astype(np.float64) for arg in args))


def _name(call: Any) -> str:
    """Name a called function without where it is registered."""
    return str(getattr(call.op, "name", call.op)).rpartition(".")[2]


def _both(mask: Mask, more: np.ndarray) -> np.ndarray:
    return more if mask is None else mask & more


def _counting(value: np.ndarray, mask: Mask) -> np.ndarray:
    """Replace what does not count, so that a cast of it is not refused."""
    return value if mask is None else np.where(mask, value, value.dtype.type(0))


def unknown_parts(expr: Any) -> Iterator[str]:
    """Name what in an expression cannot be evaluated."""
    if isinstance(expr, tvm.ir.Call):
        if _name(expr) not in (*_EXACT, *_IN_FLOAT64, _CHOICE):
            yield _name(expr)
            return
        parts = list(expr.args)
    elif isinstance(expr, tvm.ir.TensorLoad):
        parts = list(expr.indices)
    elif type(expr) in _PARTS:
        parts = [getattr(expr, name) for name in _PARTS[type(expr)]]
    else:
        yield type(expr).__name__
        return
    for part in parts:
        yield from unknown_parts(part)
