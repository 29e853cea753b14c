"""Turn an ONNX model into one that computes in float64.

ONNX's own operator sets allow double almost everywhere, and the ReferenceEvaluator, which runs
the result, does not ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from forge import UnsupportedOperator

_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
# Attributes that hold a dtype.
_DTYPES = ("to", "dtype", "output_dtype", "output_datatype", "softmax_precision", "precision")


def widen_model(model: Any) -> None:
    """Make every floating-point tensor of a model float64, in place.

    Weights, constants, declared types and the dtypes that nodes name are changed, in the graph,
    in the graphs nested in it and in the functions. Attributes that are plain numbers stay: they
    are what the model says, and are exact in float64. So do types narrower than 16 bits.

    Raises:
        UnsupportedOperator: A function's body takes a dtype from its caller.
    """
    bodies = [model.graph, *model.functions]
    refused = sorted({node.op_type for body in bodies for node in _open_dtypes(body)})
    if refused:
        raise UnsupportedOperator(
            f"the dtype of {', '.join(refused)} is given by the caller of a function, "
            "so its float64 form is not known.",
            operators=refused,
        )
    for body in bodies:
        widen_body(body)


def _open_dtypes(body: Any) -> Iterator[Any]:
    for node in body.node:
        for attribute in node.attribute:
            if attribute.ref_attr_name and attribute.name in _DTYPES:
                yield node
            for graph in _graphs(attribute):
                yield from _open_dtypes(graph)


def _graphs(attribute: Any) -> Iterable[Any]:
    return [attribute.g, *attribute.graphs] if attribute.HasField("g") else list(attribute.graphs)


def widen_body(body: Any) -> None:
    """Do the same to one graph or function, in place."""
    for kind in ("input", "output", "value_info"):
        for value in getattr(body, kind, ()):
            if not isinstance(value, str):
                _widen_type(value.type)
    for tensor in getattr(body, "initializer", ()):
        _widen_tensor(tensor)
    for node in body.node:
        _widen_node(node)


def _widen_type(declared: Any) -> None:
    kind = declared.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        _widen_type(getattr(declared, kind).elem_type)
    elif kind in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(declared, kind)
        if tensor.elem_type in _FLOATS:
            tensor.elem_type = TensorProto.DOUBLE


def _widen_tensor(tensor: Any) -> None:
    if tensor.data_type in _FLOATS:
        array = numpy_helper.to_array(tensor).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def _widen_node(node: Any) -> None:
    for attribute in node.attribute:
        if attribute.name in _DTYPES and attribute.i in _FLOATS:
            attribute.i = TensorProto.DOUBLE
        if attribute.HasField("t"):
            _widen_tensor(attribute.t)
        for tensor in attribute.tensors:
            _widen_tensor(tensor)
        for graph in _graphs(attribute):
            widen_body(graph)
    if node.op_type == "Constant":
        _widen_constant(node)
    elif node.op_type == "ConstantOfShape" and not node.attribute:
        # Without a value it is a float32 zero.
        zero = numpy_helper.from_array(np.zeros(1))
        node.attribute.append(helper.make_attribute("value", zero))


def _widen_constant(node: Any) -> None:
    for attribute in list(node.attribute):
        if attribute.name in ("value_float", "value_floats") and not attribute.ref_attr_name:
            value = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            # The attribute is float32 itself; Python reads its exact value.
            tensor = numpy_helper.from_array(np.asarray(value, np.float64))
            node.attribute.remove(attribute)
            node.attribute.append(helper.make_attribute("value", tensor))
