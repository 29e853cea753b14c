"""Refuse products and reductions over nothing, which TVM computes wrong.

Measured with TVM 0.27.0.post1: a product [2, 0] @ [0, 3] is uninitialised memory, the maximum,
minimum and product of nothing are 0, and the mean is infinite.
See https://github.com/apache/tvm/pull/19680.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from forge import _tvm
from forge.errors import UnsupportedOperator

_OVER_ALL_OR_AXES = frozenset(
    f"relax.{name}"
    for name in ("max", "min", "prod", "mean", "std", "variance", "argmax", "argmin")
)


def refuse_empty_operands(module: Any) -> None:
    """Refuse a module with a product or a reduction over a dimension of size 0.

    Raises:
        UnsupportedOperator: There are some; all of them are named.
    """
    found: dict[str, None] = {}

    def visit(expr: Any) -> None:
        if isinstance(expr, relax.Call) and hasattr(expr.op, "name") and _is_empty(expr):
            found[str(expr.op.name)] = None

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function.body, visit)
    if found:
        raise UnsupportedOperator(
            f"the model reduces over dimensions of size 0: {', '.join(found)}; TVM computes "
            "these wrong.",
            found,
            hint="load the model with shapes in which no dimension is 0",
        )


def _is_empty(call: Any) -> bool:
    name = str(call.op.name)
    if name != "relax.matmul" and name not in _OVER_ALL_OR_AXES:
        return False
    operand = call.args[0].ty
    dims = _tvm.dims_of(operand) if isinstance(operand, _tvm.TensorType) else None
    if not dims:
        return False
    return dims[-1] == 0 if name == "relax.matmul" else 0 in dims
