"""Run ONNX's shape inference without carrying the weights through it."""

from __future__ import annotations

from typing import Any

from onnx import helper, shape_inference

# Shapes, axes and sizes are smaller than this; of larger initializers only type and shape matter.
_LARGEST_VALUE = 4096


def inferred_graph(model: Any) -> Any:
    """Infer the types of a model's values anew, from its inputs and initializers.

    Shapes that the model declares for its outputs and inner values are not believed: they may be
    stale where the caller gave shapes. Where inference fails, only dtypes of outputs are known.

    Args:
        model: An ``onnx.ModelProto``; it is not changed.

    Returns:
        A ``GraphProto`` without large initializers, whose ``input``, ``value_info`` and ``output``
        hold what could be inferred.
    """
    light = _without_weights(model)
    try:
        return shape_inference.infer_shapes(light, data_prop=True).graph
    except shape_inference.InferenceError:
        return light.graph


def _without_weights(model: Any) -> Any:
    graph = helper.make_graph(model.graph.node, model.graph.name or "graph", [], [])
    graph.input.extend(model.graph.input)
    graph.output.extend(model.graph.output)
    graph.sparse_initializer.extend(model.graph.sparse_initializer)
    declared = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= _LARGEST_VALUE:
            graph.initializer.append(tensor)
        elif tensor.name not in declared:
            graph.input.append(
                helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
            )
    for output in graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    light = helper.make_model(
        graph, opset_imports=model.opset_import, functions=list(model.functions)
    )
    light.ir_version = model.ir_version
    return light
