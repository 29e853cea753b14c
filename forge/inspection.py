"""What a module consists of."""

from __future__ import annotations

from collections import Counter
from typing import Any


def count_operators(module: Any) -> Counter[str]:
    """Count the Relax operators of all Relax functions of a ``tvm.IRModule``.

    Names are TVM's own, for example ``relax.nn.conv2d``; a call of a TIR function counts as
    ``relax.call_tir``. Calls of other functions of the module are no operators.
    """
    import tvm
    from tvm import relax

    counts: Counter[str] = Counter()

    def visit(node: Any) -> None:
        if isinstance(node, tvm.ir.Call) and isinstance(node.op, tvm.ir.Op):
            name = node.op.name
            if name.startswith("relax."):
                counts[name] += 1

    for function in module.functions.values():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
    return counts
