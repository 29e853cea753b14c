"""What of a torch program cannot be loaded right, all of it at once.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/torch/exported_program_translator.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import torch

from forge.errors import UnsupportedOperator

_TRAINED_BATCH_NORMS = frozenset(
    {
        "_native_batch_norm_legit_functional.default",
        "_native_batch_norm_legit.default",
        "native_batch_norm.default",
        "_batch_norm_with_update.default",
        "_batch_norm_with_update_functional.default",
    }
)
# TVM makes only the first result of these; the others are zeros or the first one again.
FIRST_RESULT_ONLY = frozenset(
    {
        "max_pool2d_with_indices.default",
        "max_pool3d_with_indices.default",
        "_native_batch_norm_legit_no_training.default",
    }
)
_VALUE_AS_NUMBER = frozenset({"item.default", "_local_scalar_dense.default"})
_DOMAINS = frozenset({"aten", "prim", "prims", "higher_order"})


def operator_name(target: Any) -> str:
    """Name an operator as ``aten::add.Tensor``; the overload ``default`` is left out."""
    if isinstance(target, torch._ops.OpOverload):
        name: str = target._schema.name
        overload = target._overloadname
        return name if overload == "default" else f"{name}.{overload}"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order::{target.__name__}"
    module = getattr(target, "__module__", "").lstrip("_")
    return f"{module}::{getattr(target, '__name__', target)}"


def layer_of(node: Any) -> str:
    """Say in which layer of the user's module a node stands, where torch noted it."""
    stack = node.meta.get("nn_module_stack") or {}
    paths = [entry[0] for entry in stack.values() if entry[0]]
    return f" in layer {paths[-1]!r}" if paths else ""


def called_operators(program: Any) -> Iterator[Any]:
    """Give every node that calls an operator, those inside branches too."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                if node.op == "call_function":
                    yield node


def refuse(program: Any, known: Collection[str], custom: Collection[str]) -> None:
    """Refuse a decomposed program that holds operators which would not load right.

    Args:
        program: A ``torch.export.ExportedProgram`` after decomposition.
        known: Names that a converter exists for, such as ``add.Tensor``.
        custom: Operators that the caller gives converters for, by ``domain::Name`` or as in
            ``known``.

    Raises:
        UnsupportedOperator: There are such operators; all of them are named.
    """
    problems: dict[str, str] = {}
    for node in called_operators(program):
        name = operator_name(node.target)
        if {name, name.partition(".")[0], node.target.__name__} & set(custom):
            continue
        problem = _problem(node, name, known)
        if problem and name not in problems:
            problems[name] = problem + layer_of(node)
    if not problems:
        return
    lines = [f"{name}: {problem}" for name, problem in sorted(problems.items())]
    raise UnsupportedOperator(
        "the model holds operators that cannot be loaded right:\n    " + "\n    ".join(lines),
        sorted(problems),
        hint="put the model into eval mode before it is traced, scripted or exported"
        if any("training" in problem for problem in problems.values())
        else "custom_convert_map={'name.overload': f(node, importer)} adds a converter to TVM's, "
        "custom_ops={'domain::name': f(builder, inputs, attrs)} one for your own operator",
    )


def _problem(node: Any, name: str, known: Collection[str]) -> str | None:
    key = node.target.__name__
    if key in _TRAINED_BATCH_NORMS:
        return "batch norm in training mode"
    if isinstance(node.target, torch._ops.OpOverload):
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            return "its result is random (a dropout in training mode, or a random number)"
        if name.partition("::")[0] not in _DOMAINS and name != "torchvision::roi_align":
            return "an operator of another library, without a converter"
    if key in _VALUE_AS_NUMBER:
        return "takes a value out of a tensor, so that shapes or branches depend on values"
    if key == "as_strided.default" and not _is_plain_view(node):
        return "reads memory by strides"
    if key in ("index.Tensor", "index_put.default") and _has_mask(node):
        return "indexes with a mask, so that a shape depends on values"
    if "_pool" in key and _asks_for(node, "ceil_mode", "divisor_override"):
        return "pools in a way that TVM does not over a symbolic size"
    if key == "_upsample_bilinear2d_aa.default":
        return "antialias over a symbolic height or width"
    if key not in known:
        return "TVM has no converter"
    if key in FIRST_RESULT_ONLY and any(
        user.target.__name__ == "getitem" and user.args[1] != 0 and user.users
        for user in node.users
        if user.op == "call_function"
    ):
        return "a result other than the first is used"
    return None


def _has_mask(node: Any) -> bool:
    indices = [index.meta.get("val") for index in node.args[1] if index is not None]
    return any(getattr(index, "dtype", None) in (torch.bool, torch.uint8) for index in indices)


def _asks_for(node: Any, *names: str) -> bool:
    arguments = [argument.name for argument in node.target._schema.arguments]
    values = {**dict(zip(arguments, node.args, strict=False)), **node.kwargs}
    return any(values.get(name) for name in names)


def _is_plain_view(node: Any) -> bool:
    source, result = node.args[0].meta.get("val"), node.meta.get("val")
    return (
        source is not None
        and result is not None
        and bool(source.is_contiguous())
        and bool(result.is_contiguous())
        and source.numel() == result.numel()
    )
