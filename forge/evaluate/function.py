"""Evaluate a whole Relax function with numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from forge.evaluate.dispatch import evaluate_call
from forge.evaluate.registry import NotEvaluable
from forge.evaluate.values import Shape, Value, array_of, is_floating


def evaluate_function(
    module: Any,
    inputs: Sequence[np.ndarray],
    name: str = "main",
    width: np.dtype | None = None,
) -> Value:
    """Run a Relax function operator by operator, without compiling anything.

    Args:
        module: A ``tvm.IRModule``.
        inputs: One array a parameter.
        name: Which function.
        width: Evaluate all floating-point numbers in this dtype instead of the program's own.

    Returns:
        An array, or a tuple of such as the function returns one.

    Raises:
        NotEvaluable: An operator is not known or has no defined value on these inputs.
    """
    function = module[name]
    run = _Run(width)
    for param, value in zip(function.params, inputs, strict=True):
        run.match(param.ty, value)
        run.bind(param, run.widened(value))
    return run.value(function.body)


class _Run:
    def __init__(self, width: np.dtype | None) -> None:
        self._width = width
        self._variables: dict[int, Value] = {}
        self._dims = tvm.sym.Analyzer()
        self._bound: set[int] = set()

    def bind(self, var: Any, value: Value) -> None:
        self._variables[var.__chandle__()] = value

    def widened(self, array: np.ndarray) -> np.ndarray:
        if self._width is not None and is_floating(array.dtype):
            return array.astype(self._width)
        return array

    def match(self, value_type: Any, value: Value) -> None:
        """Learn the symbolic dimensions of a type from a value."""
        if isinstance(value_type, relax.TensorType) and isinstance(value, np.ndarray):
            shape, dims = value_type.shape, value.shape
            symbolic = shape.values if isinstance(shape, relax.ShapeExpr) else ()
        elif isinstance(value_type, relax.ShapeType) and isinstance(value, Shape):
            symbolic, dims = value_type.values or (), value
        else:
            return
        for dim, size in zip(symbolic, dims, strict=bool(symbolic)):
            if isinstance(dim, tvm.ir.Var) and dim.__chandle__() not in self._bound:
                self._bound.add(dim.__chandle__())
                self._dims.bind(dim, tvm.tirx.IntImm("int64", size))

    def value(self, expr: Any) -> Value:
        if isinstance(expr, relax.SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    value = self.value(binding.value)
                    if isinstance(binding, relax.MatchCast):
                        self.match(binding.ty, value)
                    self.bind(binding.var, value)
            return self.value(expr.body)
        if isinstance(expr, tvm.ir.Var):
            key = expr.__chandle__()
            return self._variables[key] if key in self._variables else self._scalar(expr)
        if isinstance(expr, tvm.ir.GenericConst):
            return self.widened(array_of(expr))
        if isinstance(expr, tvm.ir.Tuple):
            return tuple(self.value(field) for field in expr.fields)
        if isinstance(expr, tvm.ir.TupleGetItem):
            whole = self.value(expr.tuple_value)
            assert isinstance(whole, tuple)
            return whole[int(expr.index)]
        if isinstance(expr, relax.ShapeExpr):
            return Shape(int(self._scalar(dim)) for dim in expr.values)
        if isinstance(expr, relax.If):
            taken = bool(np.asarray(self.value(expr.cond)))
            return self.value(expr.true_branch if taken else expr.false_branch)
        if isinstance(expr, tvm.ir.Call) and isinstance(expr.op, tvm.ir.Op):
            args = [self.value(arg) for arg in expr.args]
            return evaluate_call(expr, args, width=self._width)
        if tvm.ir.is_prim_expr(expr):
            return self._scalar(expr)
        raise NotEvaluable(f"an expression of {type(expr).__name__}")

    def _scalar(self, expr: Any) -> int | float:
        if not isinstance(expr, tvm.tirx.IntImm | tvm.tirx.FloatImm):
            expr = self._dims.simplify(expr)
        if not isinstance(expr, tvm.tirx.IntImm | tvm.tirx.FloatImm):
            raise NotEvaluable(f"the scalar {expr} is not known")
        number: int | float = expr.value
        return number
