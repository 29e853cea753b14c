"""Walk and rebuild Relax functions binding by binding, without changing the module given.

Imported models are one long function in A-normal form. A loop over its bindings is linear,
keeps every variable and type, and spares the normalisation that a tree mutator pays a node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tvm
from tvm import relax

GenericConst = tvm.ir.GenericConst
Call = tvm.ir.Call
Op = tvm.ir.Op


def handle(node: Any) -> int:
    """Identify a TVM node: two Python wrappers of one node have the same handle."""
    return int(node.__chandle__())


def rewrite_functions(module: Any, rewrite: Callable[[Any], Any]) -> Any:
    """Apply ``rewrite`` to each Relax function; functions of other kinds are kept.

    Returns:
        A new ``tvm.IRModule``, or ``module`` itself where nothing changed.
    """
    changed = {}
    for name, function in module.functions.items():
        if isinstance(function, relax.Function):
            rewritten = rewrite(function)
            if not rewritten.same_as(function):
                changed[name] = rewritten
    if not changed:
        return module
    result = module.clone()
    for name, function in changed.items():
        result.update_func(name, function)
    return result


def with_body(function: Any, body: Any) -> Any:
    """Copy a Relax function, with another body of the same type."""
    if body.same_as(function.body):
        return function
    return relax.Function(
        function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span
    )


def sequence(blocks: Iterable[tuple[Any, list[Any]]], body: Any, original: Any) -> Any:
    """Build a ``SeqExpr`` like ``original`` out of its blocks with other bindings.

    Args:
        blocks: Each block of the original with the bindings that it has now; empty ones vanish.
        body: The result, of the original's type.
        original: The ``SeqExpr`` that is rebuilt.
    """
    rebuilt = [
        block if _same(block.bindings, bindings) else type(block)(bindings, block.span)
        for block, bindings in blocks
        if bindings
    ]
    if body.same_as(original.body) and _same(original.blocks, rebuilt):
        return original
    result = relax.SeqExpr(rebuilt, body, original.span)
    relax.expr._update_type(result, original.ty)
    return result


def branch(original: Any, condition: Any, true_branch: Any, false_branch: Any) -> Any:
    """Build an ``If`` of the original's type; the original itself where nothing changed."""
    if (
        condition.same_as(original.cond)
        and true_branch.same_as(original.true_branch)
        and false_branch.same_as(original.false_branch)
    ):
        return original
    result = relax.If(condition, true_branch, false_branch, original.span)
    relax.expr._update_type(result, original.ty)
    return result


def bind(binding: Any, value: Any) -> Any:
    """Bind another value to the same variable; the binding itself where it is the same value."""
    if value.same_as(binding.value):
        return binding
    if isinstance(binding, relax.MatchCast):
        return relax.MatchCast(binding.var, value, binding.ty, binding.span)
    return relax.VarBinding(binding.var, value, binding.span)


def used_variables(expr: Any) -> Iterator[Any]:
    """Yield the variables that an expression reads, once a use, into nested functions too."""
    return (leaf for leaf in leaves(expr) if isinstance(leaf, tvm.ir.Var))


def leaves(expr: Any) -> Iterator[Any]:
    """Yield the variables and constants that an expression reads, once a use."""
    pending = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, tvm.ir.Var | GenericConst):
            yield node
        elif isinstance(node, tvm.tirx.IntImm | tvm.ir.GlobalVar | Op):
            continue
        elif isinstance(node, Call):
            pending.extend(node.args)
            if not isinstance(node.op, Op):
                pending.append(node.op)
        elif isinstance(node, tvm.ir.Tuple):
            pending.extend(node.fields)
        elif isinstance(node, tvm.ir.TupleGetItem):
            pending.append(node.tuple_value)
        elif isinstance(node, relax.ShapeExpr):
            pending.extend(node.values)
        elif isinstance(node, relax.If):
            pending += [node.cond, node.true_branch, node.false_branch]
        elif isinstance(node, relax.Function):
            pending.append(node.body)
        elif isinstance(node, relax.SeqExpr):
            pending.append(node.body)
            pending.extend(binding.value for block in node.blocks for binding in block.bindings)
        elif tvm.ir.is_prim_expr(node):
            yield from _variables_of_scalar(node)


def remove_unused(function: Any) -> Any:
    """Drop the bindings whose variable nothing reads and whose value has no effect."""
    return with_body(function, _sweep(function.body, set()))


def _sweep(expr: Any, live: set[int]) -> Any:
    if not isinstance(expr, relax.SeqExpr):
        live.update(handle(var) for var in used_variables(expr))
        return expr
    live.update(handle(var) for var in used_variables(expr.body))
    blocks = []
    for block in reversed(expr.blocks):
        pure_block = isinstance(block, relax.DataflowBlock)
        kept = []
        for binding in reversed(block.bindings):
            value = binding.value
            if handle(binding.var) not in live and _droppable(binding, value, pure_block):
                continue
            kept.append(bind(binding, _sweep_value(value, live)))
        blocks.append((block, kept[::-1]))
    return sequence(blocks[::-1], expr.body, expr)


def _sweep_value(value: Any, live: set[int]) -> Any:
    if isinstance(value, relax.If):
        live.update(handle(var) for var in used_variables(value.cond))
        return branch(
            value, value.cond, _sweep(value.true_branch, live), _sweep(value.false_branch, live)
        )
    if isinstance(value, relax.Function):
        return with_body(value, _sweep(value.body, live))
    live.update(handle(var) for var in used_variables(value))
    return value


def _droppable(binding: Any, value: Any, pure_block: bool) -> bool:
    # a match_cast and a scalar variable define what later shapes are written in
    if isinstance(binding, relax.MatchCast) or isinstance(binding.var.ty, tvm.ir.PrimType):
        return False
    if pure_block:
        return True
    if isinstance(value, Call):
        return isinstance(value.op, Op) and bool(value.op.get_attr("FPurity"))
    return not isinstance(value, relax.If)


def _variables_of_scalar(expr: Any) -> list[Any]:
    return list(tvm.tirx.analysis.undefined_vars(tvm.tirx.Evaluate(expr)))


def _same(old: Any, new: list[Any]) -> bool:
    return len(old) == len(new) and all(a.same_as(b) for a, b in zip(old, new, strict=True))
