"""Say what of a module cannot be evaluated, before anything runs."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from forge.evaluate.dispatch import is_known
from forge.evaluate.primfunc import unknown_statements

_CALLS_OF_FUNCTIONS = (
    "relax.call_tir",
    "relax.call_tir_inplace",
    "relax.call_tir_with_grad",
    "relax.call_pure_packed",
    "relax.call_dps_packed",
    "relax.call_inplace_packed",
    "relax.call_builtin_with_ctx",
    "relax.call_py_func",
)


def callee(call: Any) -> str:
    """Name what a call calls: an operator, with the function that it in turn calls."""
    if not isinstance(call.op, tvm.ir.Op):
        return _function_name(call.op)
    name = str(call.op.name)
    if name in _CALLS_OF_FUNCTIONS:
        return f"{name}({_function_name(call.args[0])})"
    return name


def _function_name(expr: Any) -> str:
    for field in ("name_hint", "global_symbol", "value", "name"):
        if isinstance(getattr(expr, field, None), str):
            return str(getattr(expr, field))
    return type(expr).__name__


def unknown_operators(module: Any, name: str = "main") -> tuple[str, ...]:
    """List the operators of a module that ``evaluate_function`` cannot evaluate.

    Args:
        module: A ``tvm.IRModule``.
        name: Where evaluation begins; functions that nothing calls from there do not count.

    Returns:
        Their names, sorted, each once: ``relax.vm.alloc_tensor``, or with the called function
        ``relax.call_tir(sort)``. Empty does not promise a value: an operator that is known may
        have none on some inputs.
    """
    found: set[str] = set()
    seen = {name}
    waiting = [module[name]]

    def visit(node: Any) -> None:
        if not isinstance(node, tvm.ir.Call):
            return
        if isinstance(node.op, tvm.ir.GlobalVar):
            function = module[node.op]
            if not isinstance(function, relax.Function):
                found.add(callee(node))
            elif node.op.name_hint not in seen:
                seen.add(node.op.name_hint)
                waiting.append(function)
        elif isinstance(node.op, tvm.ir.Op):
            if not node.op.name.startswith("relax."):
                return
            if not (is_known(node.op.name) or _is_simple(module, node)):
                found.add(callee(node))
        elif not isinstance(node.op, tvm.ir.Var):
            found.add(callee(node))

    while waiting:
        relax.analysis.post_order_visit(waiting.pop(), visit)
    return tuple(sorted(found))


def _is_simple(module: Any, call: Any) -> bool:
    """Tell whether a call is of a low-level function that can be evaluated."""
    if call.op.name != "relax.call_tir" or not isinstance(call.args[0], tvm.ir.GlobalVar):
        return False
    return next(unknown_statements(module[call.args[0]].body), None) is None
