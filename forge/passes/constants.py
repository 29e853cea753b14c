"""Find the value of a constant expression wherever in a function it is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax

from forge.evaluate import NotEvaluable, Shape, Value, evaluate_call, is_known
from forge.evaluate.values import array_of, has_type, size_in_bytes, static_dims
from forge.passes.bindings import Call, GenericConst, Op, handle
from forge.passes.known import bytes_of

_SCALARS = tvm.tirx.IntImm | tvm.tirx.FloatImm


class ConstantFinder:
    """Evaluates expressions of constants through the variables that hold their parts.

    So batch norm folds into a weight that is a transposed or reshaped constant also where
    constant folding did not run. Variables are defined in the order of the program, so that
    whether one is constant is known from its operands, without a walk through the network.

    Args:
        growth_limit: Nothing is computed that takes more bytes than this and than its operands.
    """

    def __init__(self, growth_limit: int = 1 << 20) -> None:
        self._growth_limit = growth_limit
        self._definitions: dict[int, Any] = {}
        self._values: dict[int, Value | None] = {}
        self._exact: dict[int, tuple[Any, Callable[[], np.ndarray]]] = {}

    def define(self, var: Any, value: Any) -> None:
        """Say what a variable is bound to."""
        key = handle(var)
        self._values.pop(key, None)
        self._definitions.pop(key, None)
        if self._is_constant(value):
            self._definitions[key] = value

    def remember(self, constant: Any, exact: Callable[[], np.ndarray]) -> None:
        """Say how to compute the float64 value that a new constant was rounded from.

        What is folded twice is so rounded once; kept as a function, it takes no memory.
        """
        self._exact[handle(constant)] = (constant, exact)

    def array(self, expr: Any) -> np.ndarray | None:
        """Give the value of a tensor expression; None where it is not constant."""
        value = self._value(expr) if self._is_constant(expr) else None
        return value if isinstance(value, np.ndarray) else None

    def _is_constant(self, expr: Any) -> bool:
        if isinstance(expr, tvm.ir.Var):
            return handle(expr) in self._definitions
        if isinstance(expr, GenericConst | _SCALARS):
            return True
        if isinstance(expr, relax.ShapeExpr):
            return static_dims(expr) is not None
        if isinstance(expr, tvm.ir.Tuple):
            return all(map(self._is_constant, expr.fields))
        if isinstance(expr, tvm.ir.TupleGetItem):
            return self._is_constant(expr.tuple_value)
        if isinstance(expr, Call) and isinstance(expr.op, Op) and is_known(expr.op.name):
            return all(map(self._is_constant, expr.args))
        return False

    def _value(self, expr: Any) -> Value | None:
        if isinstance(expr, tvm.ir.Var):
            key = handle(expr)
            if key not in self._values:
                self._values[key] = self._value(self._definitions[key])
            return self._values[key]
        if isinstance(expr, GenericConst):
            return self._constant(expr)
        if isinstance(expr, relax.ShapeExpr):
            return static_dims(expr)
        if isinstance(expr, _SCALARS):
            scalar: int | float = expr.value
            return scalar
        if isinstance(expr, tvm.ir.Tuple):
            return self._all(expr.fields)
        if isinstance(expr, tvm.ir.TupleGetItem):
            whole = self._value(expr.tuple_value)
            if isinstance(whole, tuple) and not isinstance(whole, Shape):
                return whole[int(expr.index)]
            return None
        return self._call(expr)

    def _constant(self, expr: Any) -> np.ndarray | None:
        if handle(expr) in self._exact:
            return self._exact[handle(expr)][1]()
        try:
            return array_of(expr)
        except TypeError:
            return None

    def _all(self, exprs: Any) -> tuple[Value, ...] | None:
        values = []
        for expr in exprs:
            value = self._value(expr)
            if value is None:
                return None
            values.append(value)
        return tuple(values)

    def _call(self, call: Any) -> Value | None:
        args, size = self._all(call.args), size_in_bytes(call.ty)
        if args is None or size is None:
            return None
        if size > max(self._growth_limit, bytes_of(args)):
            return None
        try:
            result = evaluate_call(call, args)
        except NotEvaluable:
            return None
        return result if has_type(result, call.ty) else None
