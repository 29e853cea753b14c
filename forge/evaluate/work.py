"""Estimate how much computing a function is, so that a caller can do without it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import prod
from typing import Any

import tvm
from tvm import relax

from forge.evaluate.dims import Dims
from forge.evaluate.registry import NotEvaluable
from forge.evaluate.values import Shape

_CONVOLUTIONS = tuple(f"relax.nn.conv{rank}d" for rank in (1, 2, 3))
_TRANSPOSED = tuple(f"{name}_transpose" for name in _CONVOLUTIONS)
_ATTENTIONS = ("relax.nn.attention", "relax.nn.attention_bias", "relax.nn.attention_var_len")


def estimated_work(
    module: Any, name: str = "main", shapes: Sequence[Sequence[int]] | None = None
) -> int:
    """Count roughly the multiplications and the elements that a function computes.

    Numpy does some 10**8 to 10**9 of them a second.

    Args:
        module: A ``tvm.IRModule``.
        name: Which function.
        shapes: The shapes of its inputs, where symbolic dimensions depend on them. A
            dimension that is not known counts as one.
    """
    return _Estimate(module).function(module[name], shapes)


class _Estimate:
    def __init__(self, module: Any) -> None:
        self._module = module
        self._dims = Dims()
        self._open: list[Any] = []

    def function(self, function: Any, shapes: Sequence[Sequence[int]] | None = None) -> int:
        if any(function.same_as(other) for other in self._open):
            # how often a loop runs is not known: its body counts once
            return 0
        for param, shape in zip(function.params, shapes or ()):
            if isinstance(param.ty, relax.TensorType) and param.ty.shape is not None:
                # whether the shapes fit is for the evaluation to say
                with suppress(NotEvaluable):
                    self._dims.learn(relax.ShapeType(param.ty.shape.values), Shape(shape))
        self._open.append(function)
        work = self._work(function.body)
        self._open.pop()
        return work

    def _work(self, expr: Any) -> int:
        if isinstance(expr, relax.SeqExpr):
            parts = [binding.value for block in expr.blocks for binding in block.bindings]
            return sum(map(self._work, [*parts, expr.body]))
        if isinstance(expr, relax.If):
            return max(self._work(expr.true_branch), self._work(expr.false_branch))
        if isinstance(expr, relax.Function):
            return self.function(expr)
        if isinstance(expr, tvm.ir.Call):
            return self._call(expr)
        return 0

    def _call(self, call: Any) -> int:
        if isinstance(call.op, tvm.ir.GlobalVar):
            function = self._module[call.op]
            return self.function(function) if isinstance(function, relax.Function) else 0
        name = getattr(call.op, "name", "")
        result = self._elements(call.ty)
        operands = [self._shape(arg.ty) for arg in call.args]
        if name in _CONVOLUTIONS:
            outputs = operands[1][str(call.attrs.kernel_layout).index("O")]
            return result * prod(operands[1]) // max(outputs, 1)
        if name in _TRANSPOSED:
            inputs = operands[1][str(call.attrs.kernel_layout).index("I")]
            return prod(operands[0]) * prod(operands[1]) // max(inputs, 1)
        if name == "relax.matmul":
            return result * operands[0][-1]
        if name in _ATTENTIONS:
            return 2 * prod(operands[0]) * operands[1][1]
        if "_pool" in name and hasattr(call.attrs, "pool_size"):
            return result * prod(int(size) for size in call.attrs.pool_size)
        return max(result, *(prod(shape) for shape in operands), 0)

    def _elements(self, value_type: Any) -> int:
        if isinstance(value_type, relax.TupleType):
            return sum(map(self._elements, value_type.fields))
        return prod(self._shape(value_type)) if isinstance(value_type, relax.TensorType) else 0

    def _shape(self, value_type: Any) -> tuple[int, ...]:
        """Give a tensor's shape; what is no tensor has no elements."""
        if not isinstance(value_type, relax.TensorType):
            return (0,)
        if not isinstance(value_type.shape, relax.ShapeExpr):
            return (1,) * max(int(value_type.ndim), 0)
        numbers = [self._dims.number(dim) for dim in value_type.shape.values]
        return tuple(1 if number is None else int(number) for number in numbers)
