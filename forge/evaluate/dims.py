"""The symbolic dimensions of a function, learnt from the shapes of what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tvm
from tvm import relax

from forge.evaluate.registry import NotEvaluable
from forge.evaluate.values import Shape, Value


class Dims:
    """What the dimensions of one call of a function are."""

    def __init__(self) -> None:
        self._analyzer = tvm.sym.Analyzer()
        self._known: set[int] = set()

    def learn(self, value_type: Any, value: Value) -> None:
        """Learn the dimensions of a type from a value of that type.

        Raises:
            NotEvaluable: The value's shape is not of the type.
        """
        if isinstance(value_type, relax.TupleType) and isinstance(value, tuple):
            for field_type, field in zip(value_type.fields, value, strict=True):
                self.learn(field_type, field)
        elif isinstance(value_type, relax.ShapeType) and isinstance(value, Shape):
            self._learn_shape(value_type.values, value, int(value_type.ndim))
        elif isinstance(value_type, relax.TensorType):
            shape = value_type.shape
            dims = shape.values if isinstance(shape, relax.ShapeExpr) else None
            self._learn_shape(dims, getattr(value, "shape", ()), int(value_type.ndim))

    def _learn_shape(self, dims: Any, sizes: Sequence[int], rank: int) -> None:
        if rank not in (-1, len(sizes)):
            raise NotEvaluable(f"a shape of {tuple(sizes)} where the rank is {rank}")
        for dim, size in zip(dims or (), sizes):
            if isinstance(dim, tvm.ir.Var) and dim.__chandle__() not in self._known:
                self._known.add(dim.__chandle__())
                self._analyzer.bind(dim, tvm.tirx.IntImm("int64", size))
                continue
            expected = self.number(dim)
            if expected is not None and expected != size:
                raise NotEvaluable(f"a shape of {tuple(sizes)} where {dim} is {expected}")

    def number(self, expr: Any) -> int | float | None:
        """Compute a scalar of dimensions; None where one of them is not known."""
        if not isinstance(expr, tvm.tirx.IntImm | tvm.tirx.FloatImm):
            expr = self._analyzer.simplify(expr)
        if not isinstance(expr, tvm.tirx.IntImm | tvm.tirx.FloatImm):
            return None
        number: int | float = expr.value
        return number
