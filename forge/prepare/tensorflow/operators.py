"""Which TensorFlow operators a route must not take, and which no route can.

Measured with TensorFlow 2.21, tf2onnx 1.17 and TVM 0.27.0.post1, which simplifies ``x == x``
of floats to True.

See https://github.com/apache/tvm/pull/17158.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forge.errors import UnsupportedOperator

_STATE = (
    "Assign",
    "VarHandleOp",
    "ReadVariableOp",
    "VariableV2",
    "ResourceScatter",
    "HashTable",
    "LookupTable",
    "MutableHashTable",
    "Queue",
    "Iterator",
    "Stack",
    "Print",
)
_RANDOM = (
    "Random",
    "StatelessRandom",
    "StatelessTruncatedNormal",
    "TruncatedNormal",
    "Multinomial",
    "StatelessMultinomial",
    "ParameterizedTruncatedNormal",
)
_OUTSIDE = ("ReadFile", "WriteFile", "PyFunc", "EagerPyFunc", "PyFuncStateless", "MatchingFiles")
_NOT_RANDOM = ("RandomShuffleQueue",)

# Measured with TensorFlow 2.21, tf2onnx 1.17 and TVM 0.27.0.post1.
WRONG_IN_TFLITE = {
    "Softplus": "TFLite lowers it to log(1 + exp(x)), which is inf for x above 88",
    "IsInf": "TFLite lowers it to a comparison with the largest finite number",
    "IsNan": "TFLite lowers it to x != x, which TVM simplifies to False",
    "IsFinite": "TFLite lowers it to x - x == 0, which TVM simplifies",
    "NonMaxSuppressionV2": "TFLite pads the result, whose length depends on the values",
    "NonMaxSuppressionV3": "TFLite pads the result, whose length depends on the values",
}
WRONG_IN_ONNX = {
    "FloorDiv": "tf2onnx lowers the integer form to a division that truncates",
    "FloorMod": "tf2onnx lowers the integer form to a remainder of the wrong sign",
    "ScatterNd": "tf2onnx lowers it to ScatterND, which keeps one of several equal indices",
    "TensorScatterAdd": "tf2onnx lowers it to ScatterND, which keeps one of several equal indices",
}


def all_nodes_of(graph_def: Any) -> list[Any]:
    """List the nodes of a GraphDef and of all functions in its library, called or not."""
    nodes = list(graph_def.node)
    for function in graph_def.library.function:
        nodes.extend(function.node_def)
    return nodes


def nodes_of(graph_def: Any) -> list[Any]:
    """List the nodes of a GraphDef and of the functions that it calls, directly or not.

    A frozen graph keeps functions that only training or saving called.
    """
    functions = {function.signature.name: function for function in graph_def.library.function}
    nodes: list[Any] = []
    pending = list(graph_def.node)
    while pending:
        node = pending.pop()
        nodes.append(node)
        for name in _functions_called(node):
            if name in functions:
                pending.extend(functions.pop(name).node_def)
    return nodes


def _functions_called(node: Any) -> list[str]:
    names = [node.op]
    for attribute in node.attr.values():
        names.append(attribute.func.name)
        names.extend(function.name for function in attribute.list.func)
    return names


def refuse(nodes: Iterable[Any], variables: bool = False) -> None:
    """Refuse operators with state, random numbers, strings or effects, all of them at once.

    Args:
        nodes: The nodes of a graph and its functions.
        variables: Reading a variable is allowed, as in a graph that is not frozen yet.

    Raises:
        UnsupportedOperator: There are some.
    """
    found: dict[str, list[str]] = {}
    for node in nodes:
        if variables and node.op in ("ReadVariableOp", "VarHandleOp"):
            continue
        reason = _reason(node)
        if reason and node.op not in found.setdefault(reason, []):
            found[reason].append(node.op)
    if found:
        parts = "; ".join(f"{reason}: {', '.join(sorted(ops))}" for reason, ops in found.items())
        raise UnsupportedOperator(
            f"the TensorFlow model cannot be loaded: {parts}.",
            operators=[operator for operators in found.values() for operator in operators],
            hint="load the part of the model that computes tensors from tensors only",
        )


def _reason(node: Any) -> str | None:
    operator = node.op
    if operator.startswith(_OUTSIDE):
        return "operators that reach outside the graph"
    if operator.startswith(_RANDOM) and not operator.startswith(_NOT_RANDOM):
        return "operators that draw random numbers"
    if operator.startswith(_STATE):
        return "operators that keep state between calls"
    if operator.startswith("String") or operator in ("AsString", "DecodeJpeg", "DecodePng"):
        return "operators on strings"
    return None


def wrong_in_tflite(nodes: Iterable[Any]) -> dict[str, str]:
    """Say which operators the TFLite route would load wrongly, and why."""
    return {node.op: WRONG_IN_TFLITE[node.op] for node in nodes if node.op in WRONG_IN_TFLITE}


def wrong_in_onnx(nodes: Iterable[Any]) -> dict[str, str]:
    """Say which operators the ONNX route would load wrongly, and why."""
    return {
        node.op: WRONG_IN_ONNX[node.op]
        for node in nodes
        if node.op in WRONG_IN_ONNX and not (node.op.startswith("Floor") and _is_float(node))
    }


def _is_float(node: Any) -> bool:
    # The float values of the DataType enum: half, float, double, bfloat16.
    return node.attr["T"].type in (19, 1, 2, 14)
