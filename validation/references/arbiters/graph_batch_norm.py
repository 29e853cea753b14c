"""Write the batch norms of a TensorFlow graph out as arithmetic in float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

_OPERATORS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_LAST_AXIS = (b"NHWC", b"NDHWC")
_DOUBLE = tf.float64.as_datatype_enum


def write_out_batch_norms(graph: Any) -> None:
    """Replace the FusedBatchNorm of inference over the last axis, in place.

    It has no float64 form. Only its first result is left: the others are of use in training.
    """
    _write_out(graph.node, in_function=False)
    for function in graph.library.function:
        names = _write_out(function.node_def, in_function=True)
        # Inside a function a result is called after its operator's own name for it.
        renamed = {f"{name}:y:0": f"{name}:z:0" for name in names}
        for node in function.node_def:
            inputs = [renamed.get(each, each) for each in node.input]
            del node.input[:]
            node.input.extend(inputs)
        for key, value in function.ret.items():
            function.ret[key] = renamed.get(value, value)


def _write_out(nodes: Any, in_function: bool) -> list[str]:
    """Replace those among some nodes, and name them."""
    written: list[Any] = []
    names = []
    for node in nodes:
        if node.op in _OPERATORS and _is_of_inference(node):
            names.append(node.name)
            written.extend(_steps(node, in_function))
        else:
            written.append(node)
    del nodes[:]
    nodes.extend(written)
    return names


def _is_of_inference(node: Any) -> bool:
    # By default it is training, over the last axis.
    training = node.attr["is_training"].b if "is_training" in node.attr else True
    layout = node.attr["data_format"].s if "data_format" in node.attr else b"NHWC"
    return not training and layout in _LAST_AXIS


def _steps(node: Any, in_function: bool) -> Iterator[Any]:
    """Give (x - mean) * (rsqrt(variance + epsilon) * scale) + offset under the node's own name."""
    x, scale, offset, mean, variance = node.input[:5]
    prefix = f"{node.name}/float64"

    def result(name: str, own: str) -> str:
        return f"{prefix}/{name}:{own}:0" if in_function else f"{prefix}/{name}"

    # The attribute is float32, and its exact value is what the model says; 1e-4 is the default.
    epsilon = node.attr["epsilon"].f if "epsilon" in node.attr else np.float32(1e-4)
    constant = tf.compat.v1.NodeDef(name=f"{prefix}/epsilon", op="Const")
    constant.attr["dtype"].type = _DOUBLE
    constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(np.float64(epsilon)))
    yield constant
    yield _step(f"{prefix}/shifted", "AddV2", [variance, result("epsilon", "output")])
    yield _step(f"{prefix}/rsqrt", "Rsqrt", [result("shifted", "z")])
    yield _step(f"{prefix}/factor", "Mul", [result("rsqrt", "y"), scale])
    yield _step(f"{prefix}/centred", "Sub", [x, mean])
    yield _step(f"{prefix}/scaled", "Mul", [result("centred", "z"), result("factor", "z")])
    yield _step(node.name, "AddV2", [result("scaled", "z"), offset, *node.input[5:]])


def _step(name: str, operator: str, inputs: Sequence[str]) -> Any:
    step = tf.compat.v1.NodeDef(name=name, op=operator)
    step.input.extend(inputs)
    step.attr["T"].type = _DOUBLE
    return step
