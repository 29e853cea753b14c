"""Convert a frozen concrete function to ONNX.

See https://github.com/onnx/tensorflow-onnx/issues/2348.
"""

from __future__ import annotations

from typing import Any

from forge.errors import LoadError, UnsupportedOperator
from forge.frameworks import require
from forge.prepare.tensorflow.erfc import replace_erfc
from forge.prepare.tensorflow.quiet import quiet

OPSET = 18


def freeze(function: Any) -> Any:
    """Turn variables into constants; loops and branches stay functions."""
    require("tensorflow", "forge.from_tensorflow")
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    try:
        with quiet():
            return convert_variables_to_constants_v2(
                function, lower_control_flow=False, aggressive_inlining=True
            )
    except Exception as error:
        raise LoadError(
            f"TensorFlow cannot freeze the model's variables: {type(error).__name__}: {error}"
        ) from error


def to_onnx(frozen: Any, input_count: int) -> Any:
    """Convert with tf2onnx from the GraphDef, which keeps the order of inputs and outputs.

    ``tf2onnx.convert.from_keras`` fails on Keras 3, and ``from_function`` turns captured
    constants into further inputs.

    Raises:
        MissingFramework: tf2onnx is not installed.
        LoadError: tf2onnx failed, or changed the number of inputs or outputs.
    """
    require("onnx", "the ONNX route of forge.from_tensorflow")
    convert: Any = require("tf2onnx.convert", "the ONNX route of forge.from_tensorflow")
    inputs = [tensor.name for tensor in frozen.inputs]
    outputs = [tensor.name for tensor in frozen.outputs]
    try:
        with quiet():
            model, _ = convert.from_graph_def(
                frozen.graph.as_graph_def(),
                input_names=inputs,
                output_names=outputs,
                opset=OPSET,
            )
    except Exception as error:
        raise LoadError(f"tf2onnx failed: {type(error).__name__}: {error}") from error
    found = [value.name for value in model.graph.input]
    if found != inputs or len(inputs) != input_count:
        raise LoadError(
            f"tf2onnx changed the model's inputs from {', '.join(inputs)} to {', '.join(found)}."
        )
    if [value.name for value in model.graph.output] != outputs:
        raise LoadError("tf2onnx changed the order or the number of the model's outputs.")
    replace_erfc(model)
    _refuse_left_over(model)
    return model


def _refuse_left_over(model: Any) -> None:
    """Name the TensorFlow operators that tf2onnx wrote into the model as they are."""
    onnx: Any = require("onnx", "the ONNX route of forge.from_tensorflow")
    graphs = [model.graph]
    found = []
    for graph in graphs:
        for node in graph.node:
            if node.domain in ("", "ai.onnx") and not onnx.defs.has(node.op_type):
                found.append(node.op_type)
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    if found:
        raise UnsupportedOperator(
            f"tf2onnx has no conversion for {', '.join(sorted(set(found)))}",
            operators=sorted(found),
            hint="compute it outside the model, or from operators that ONNX has",
        )
