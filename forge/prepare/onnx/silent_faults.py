"""Find operators, as configured in a model, that TVM's frontend gets wrong without a word.

Found with apache-tvm 0.27 on the onnx package's backend suite, against its expected outputs.

See https://github.com/apache/tvm/issues/18703.
See https://github.com/apache/tvm/pull/19450.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from forge.prepare.onnx.constant_values import static_shapes
from forge.prepare.onnx.graphs import all_graphs, domain_of

_FLOAT8_AND_NARROWER = frozenset(
    getattr(TensorProto, name)
    for name in TensorProto.DataType.keys()  # noqa: SIM118  protobuf's wrapper is no dict
    if name.startswith(("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2"))
)


def find(model: Any) -> dict[str, str]:
    """Give a line on each faulty configuration, keyed by operator."""
    found: dict[str, str] = {}
    for graph in all_graphs(model.graph):
        values = _Values(model, graph)
        for node in graph.node:
            fault = "" if domain_of(node) else _fault_of(node, values)
            if fault:
                found.setdefault(f"ai.onnx::{node.op_type}", f"{node.op_type} {fault}")
    return found


class _Values:
    """What is known of the values that the nodes of one graph read."""

    def __init__(self, model: Any, graph: Any) -> None:
        self.constants = {
            tensor.name: tensor for each in all_graphs(model.graph) for tensor in each.initializer
        }
        self.producers = {name: node for node in graph.node for name in node.output}
        self._model = model
        self._shapes: dict[str, list[int | None]] | None = None

    def shape(self, name: str) -> list[int | None] | None:
        """Give a value's dimensions, None for an open one; None where its rank is unknown."""
        if self._shapes is None:
            self._shapes = static_shapes(self._model)
        return self._shapes.get(name)

    def comes_from_shapes(self, name: str) -> bool:
        """Tell whether a value is computed from constants and shapes alone."""
        if not name or name in self.constants:
            return True
        producer = self.producers.get(name)
        if producer is None:
            return False
        if producer.op_type in ("Shape", "Size"):
            return True
        return bool(producer.input) and all(map(self.comes_from_shapes, producer.input))


def _fault_of(node: Any, values: _Values) -> str:
    check = _CHECKS.get(node.op_type)
    if check is not None:
        fault = check(_attributes(node), node)
        if fault:
            return fault
    inputs = list(node.input)
    if node.op_type == "NonMaxSuppression" and not all(
        name in values.constants or not name for name in inputs[2:]
    ):
        return "with limits that are no constants"
    if node.op_type == "Expand" and not values.comes_from_shapes(inputs[1]):
        return "to a shape that is computed at run time"
    if node.op_type in ("Resize", "Upsample"):
        return _inexact_scale(inputs, node.op_type, values)
    return ""


def _inexact_scale(inputs: list[str], operator: str, values: _Values) -> str:
    """TVM takes size over size as the scale, which differs where size times scale is no integer."""
    position = 2 if operator == "Resize" and len(inputs) > 2 else 1
    name = inputs[position] if len(inputs) > position else ""
    if name not in values.constants:
        return ""
    scales = numpy_helper.to_array(values.constants[name]).astype(np.float64)
    dims = values.shape(inputs[0]) or [None] * scales.size
    exact = all(
        float(scale).is_integer() if dim is None else float(dim * scale).is_integer()
        for dim, scale in zip(dims, scales)
    )
    return "" if exact else "by scales that do not give whole sizes"


def _attributes(node: Any) -> dict[str, Any]:
    return {
        attribute.name: helper.get_attribute_value(attribute)
        for attribute in node.attribute
        if attribute.type != attribute.GRAPH
    }


def _batch_normalization(attributes: dict[str, Any], node: Any) -> str:
    used = len([name for name in node.output if name])
    if attributes.get("training_mode", 0) or used > 1:
        return "in training mode"
    return ""


def _is_inf(attributes: dict[str, Any], _: Any) -> str:
    one_sided = not (attributes.get("detect_negative", 1) and attributes.get("detect_positive", 1))
    return "with only one sign detected" if one_sided else ""


def _conv_transpose(attributes: dict[str, Any], _: Any) -> str:
    if attributes.get("output_shape"):
        return "with output_shape"
    if attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return f"with auto_pad={attributes['auto_pad'].decode()}"
    return ""


def _roi_align(attributes: dict[str, Any], _: Any) -> str:
    return "with mode=max" if attributes.get("mode", b"avg") == b"max" else ""


def _layer_normalization(_: dict[str, Any], node: Any) -> str:
    used = [name for name in node.output[1:] if name]
    return "with the outputs Mean and InvStdDev" if used else ""


def _resize(attributes: dict[str, Any], _: Any) -> str:
    if attributes.get("antialias", 0):
        return "with antialias=1"
    return ""


def _cast(attributes: dict[str, Any], _: Any) -> str:
    narrow = attributes.get("to") in _FLOAT8_AND_NARROWER
    return "to a type narrower than 8 bits or float8" if narrow else ""


def _dropout(_: dict[str, Any], node: Any) -> str:
    return "with the output mask" if any(node.output[1:]) else ""


_CHECKS: dict[str, Callable[[dict[str, Any], Any], str]] = {
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "ConvTranspose": _conv_transpose,
    "Dropout": _dropout,
    "IsInf": _is_inf,
    "LayerNormalization": _layer_normalization,
    "Resize": _resize,
    "RoiAlign": _roi_align,
}
