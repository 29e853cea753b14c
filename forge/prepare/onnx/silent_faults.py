"""Find operators, as configured in a model, that TVM's frontend gets wrong without a word.

Found with apache-tvm 0.27 on the onnx package's backend suite, against its expected outputs.

See https://github.com/apache/tvm/issues/18703.
See https://github.com/apache/tvm/pull/19450.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnx import TensorProto, helper

from forge.prepare.onnx.graphs import all_graphs, all_nodes, domain_of

_FLOAT8_AND_NARROWER = frozenset(
    getattr(TensorProto, name)
    for name in TensorProto.DataType.keys()  # noqa: SIM118  protobuf's wrapper is no dict
    if name.startswith(("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2"))
)


def find(model: Any) -> dict[str, str]:
    """Give a line on each faulty configuration, keyed by operator."""
    found: dict[str, str] = {}
    constants = {tensor.name for graph in all_graphs(model.graph) for tensor in graph.initializer}
    constants.add("")  # an optional input that is left out
    for node in all_nodes(model.graph):
        if domain_of(node):
            continue
        check = _CHECKS.get(node.op_type)
        fault = check(_attributes(node), node) if check else ""
        if node.op_type == "NonMaxSuppression" and not constants.issuperset(node.input[2:]):
            fault = "with limits that are no constants"
        if fault:
            found.setdefault(f"ai.onnx::{node.op_type}", f"{node.op_type} {fault}")
    return found


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
