"""Estimate how long onnx's ReferenceEvaluator would take, which runs in Python and numpy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forge import RunError
from forge.prepare.onnx.graphs import all_graphs
from forge.prepare.onnx.inference import inferred_graph

LIMIT_SECONDS = 60.0
Shape = tuple[int, ...]

# Measured with onnx 1.23.2 and numpy 2.4 on two slow cores, in nanoseconds.
_PER_MULTIPLICATION = {
    "Conv": 1.0,
    "ConvInteger": 2.0,
    "ConvTranspose": 130.0,
    "DeformConv": 120_000.0,
    "QLinearConv": 2.0,
}
_GROUPED = 40.0
_PER_PRODUCT = {
    "Attention": 1.0,
    "Einsum": 0.5,
    "Gemm": 0.5,
    "MatMul": 0.5,
    "MatMulInteger": 1.5,
    "QLinearMatMul": 1.5,
}
_RECURRENT = {"GRU": 1.2, "LSTM": 1.2, "RNN": 1.2}
_PER_OUTPUT = {
    "AveragePool": 16_000.0,
    "Col2Im": 25_000.0,
    "Erf": 150.0,
    "Gelu": 150.0,
    "GridSample": 200_000.0,
    "LpPool": 26_000.0,
    "NonMaxSuppression": 2_000.0,
    "Resize": 350.0,
    "RoiAlign": 5_000.0,
    "TopK": 100.0,
}
_OTHERS = 30.0


def check_cost(model: Any, shapes: Mapping[str, Sequence[int]]) -> None:
    """Refuse a model that would take too long.

    Args:
        model: An ``onnx.ModelProto`` of our own: the shapes of its inputs are set.
        shapes: Shapes by input name; an open dimension of any other input counts as 1.

    Raises:
        RunError: The estimate is above the limit.
    """
    seconds = estimate(model, shapes)
    if seconds > LIMIT_SECONDS:
        raise RunError(
            f"the model is too large for onnx's ReferenceEvaluator, which would take about "
            f"{seconds:.0f} s in Python; the limit is {LIMIT_SECONDS:.0f} s."
        )


def estimate(model: Any, shapes: Mapping[str, Sequence[int]]) -> float:
    """Estimate the seconds of one run; a value of unknown shape counts as one element."""
    _set_shapes(model.graph, shapes)
    graph = inferred_graph(model)
    known = dict(_declared(graph))
    known |= {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    return 1e-9 * sum(_node_cost(node, known) for each in all_graphs(graph) for node in each.node)


def _set_shapes(graph: Any, shapes: Mapping[str, Sequence[int]]) -> None:
    for value in graph.input:
        tensor = value.type.tensor_type
        if value.name in shapes:
            tensor.shape.ClearField("dim")
            for size in shapes[value.name]:
                tensor.shape.dim.add().dim_value = size
            continue
        for dim in tensor.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = 1


def _declared(graph: Any) -> Iterator[tuple[str, Shape]]:
    for each in all_graphs(graph):
        for value in (*each.input, *each.value_info, *each.output):
            if value.type.tensor_type.HasField("shape"):
                yield (
                    value.name,
                    tuple(max(dim.dim_value, 1) for dim in value.type.tensor_type.shape.dim),
                )


def _node_cost(node: Any, known: Mapping[str, Shape]) -> float:
    inputs = [known.get(name, ()) for name in node.input]
    outputs = sum(math.prod(known.get(name, ())) for name in node.output if name)
    name = node.op_type
    if name in _PER_MULTIPLICATION and len(inputs) > 1:
        weights = inputs[3] if name == "QLinearConv" and len(inputs) > 3 else inputs[1]
        # A transposed convolution multiplies each input with the kernel, others each output.
        sites = math.prod(inputs[0]) if name == "ConvTranspose" else outputs
        grouped = any(each.name == "group" and each.i > 1 for each in node.attribute)
        each = max(_PER_MULTIPLICATION[name], _GROUPED if grouped else 0.0)
        return each * sites * math.prod(weights[1:])
    if name in _PER_PRODUCT and inputs:
        return _PER_PRODUCT[name] * outputs * max(inputs[0] or (1,)) + _OTHERS * outputs
    if name in _RECURRENT and len(inputs) > 2:
        steps = math.prod(inputs[0][:2])
        return _RECURRENT[name] * steps * (math.prod(inputs[1]) + math.prod(inputs[2]))
    return _PER_OUTPUT.get(name, _OTHERS) * max(outputs, *map(math.prod, inputs), 1)
