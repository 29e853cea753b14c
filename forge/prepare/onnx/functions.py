"""Replace calls of functions by their bodies: the model's own, the user's, and the standard's.

TVM's ONNX frontend knows no functions (0.25–0.27): a call of a model-local one is an unknown
operator, and an operator that the standard itself defines by a body has no converter.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/onnx/onnx_frontend.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from onnx import FunctionProto, defs, helper, inliner

from forge.errors import InvalidInput
from forge.prepare.onnx.graphs import all_nodes, domain_of
from forge.specs import Step


def inline_local_functions(model: Any) -> tuple[Any, Step]:
    """Inline the model's own functions. An operator that a function defines is never TVM's."""
    count = len(model.functions)
    if count:
        model = inliner.inline_local_functions(model, convert_version=True)
    return model, Step("inline-functions", "TVM knows no model-local functions", count)


def add_user_functions(model: Any, functions: Mapping[str, FunctionProto]) -> None:
    """Add the user's definitions of operators to the model, in place, under their names.

    Args:
        functions: One function an operator, keyed ``domain::Name``.

    Raises:
        InvalidInput: A key without a domain.
    """
    for key, function in functions.items():
        domain, name = split_operator_name(key)
        definition = FunctionProto()
        definition.CopyFrom(function)
        definition.domain, definition.name = domain, name
        for local in [f for f in model.functions if (f.domain, f.name) == (domain, name)]:
            model.functions.remove(local)
        model.functions.append(definition)
        if domain not in {entry.domain for entry in model.opset_import}:
            model.opset_import.append(helper.make_opsetid(domain, 1))


def split_operator_name(key: str) -> tuple[str, str]:
    """Split ``domain::Name``.

    Raises:
        InvalidInput: It has not that form.
    """
    domain, separator, name = key.rpartition("::")
    if not (separator and domain and name):
        raise InvalidInput(
            f"custom_ops has the key {key!r}.",
            hint="a key is 'domain::Name', as the error shows it",
        )
    return ("" if domain == "ai.onnx" else domain), name


def expand_schema_functions(
    model: Any, converters: Collection[str], opset: int
) -> tuple[Any, Step]:
    """Inline the standard's own bodies of operators that TVM has no converter for.

    Args:
        converters: Names of the default domain's operators that TVM converts right.
        opset: The version of the default domain that the model imports.
    """
    wanted = sorted(
        {
            node.op_type
            for node in all_nodes(model.graph)
            if not domain_of(node)
            and node.op_type not in converters
            and _has_body(node.op_type, opset)
        }
    )
    count = sum(node.op_type in wanted for node in all_nodes(model.graph) if not domain_of(node))
    if wanted:
        model = inliner.inline_selected_functions(
            model, [("", name) for name in wanted], exclude=False, inline_schema_functions=True
        )
    return model, Step(
        "expand-schema-functions",
        "TVM has no converter, the ONNX standard has a body",
        count,
        tuple(wanted),
    )


def _has_body(name: str, opset: int) -> bool:
    try:
        schema = defs.get_schema(name, opset, "")
    except defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)
