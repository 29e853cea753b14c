"""Call a frozen TensorFlow 1 GraphDef."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.errors import InvalidInput
from forge.frameworks import require
from forge.prepare.tensorflow.signature import Named, Signature, dims_of
from forge.specs import TensorSpec

_SHOWN = 20


def graph_def_signature(graph_def: Any, outputs: Sequence[str] | None) -> Signature:
    """Describe a frozen GraphDef: its placeholders in graph order, and the outputs asked for.

    Inputs have the names of their nodes, outputs the names that the caller gives.

    Raises:
        InvalidInput: No ``outputs``, one that the graph does not have, or one that cannot be
            computed from the placeholders.
    """
    tf: Any = require("tensorflow", "forge.from_tensorflow")
    nodes = {node.name: node for node in graph_def.node}
    if not nodes:
        raise InvalidInput("the GraphDef is empty.")
    if isinstance(outputs, str):
        outputs = [outputs]
    if not outputs:
        raise InvalidInput(
            "a GraphDef does not say what it gives back.",
            hint=f"outputs=[…]; nothing uses: {', '.join(_unused(graph_def)[:_SHOWN])}",
        )
    unknown = [name for name in outputs if name.partition(":")[0] not in nodes]
    if unknown:
        raise InvalidInput(
            f"the GraphDef has no node {', '.join(map(repr, unknown))}.",
            hint=f"nothing uses: {', '.join(_unused(graph_def)[:_SHOWN])}",
        )
    tensors = [name if ":" in name else f"{name}:0" for name in outputs]
    needed = _ancestors(nodes, [name.partition(":")[0] for name in outputs])
    placeholders = [n.name for n in graph_def.node if n.op == "Placeholder" and n.name in needed]

    def import_graph() -> None:
        tf.graph_util.import_graph_def(graph_def, name="")

    try:
        wrapped = tf.compat.v1.wrap_function(import_graph, [])
        graph = wrapped.graph
        inputs = [graph.get_tensor_by_name(f"{name}:0") for name in placeholders]
        function = wrapped.prune(inputs, [graph.get_tensor_by_name(name) for name in tensors])
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"the GraphDef cannot be used: {error}") from error
    specs = tuple(
        TensorSpec(name, dims_of(tensor.shape, name), tensor.dtype.name)
        for name, tensor in zip(placeholders, inputs, strict=True)
    )

    def name_outputs(result: Any) -> Named:
        return list(zip(outputs, tf.nest.flatten(result), strict=True))

    return Signature(lambda flat: function(*flat), specs, name_outputs)


def _inputs_of(node: Any) -> list[str]:
    return [name.lstrip("^").partition(":")[0] for name in node.input]


def _unused(graph_def: Any) -> list[str]:
    used = {name for node in graph_def.node for name in _inputs_of(node)}
    return [n.name for n in graph_def.node if n.name not in used and n.op != "NoOp"]


def _ancestors(nodes: dict[str, Any], names: Sequence[str]) -> set[str]:
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in seen and name in nodes:
            seen.add(name)
            waiting.extend(_inputs_of(nodes[name]))
    return seen
