"""Turn Constant nodes of the top graph into initializers.

TVM 0.25–0.27 reads only the attribute ``value`` of a Constant; ``value_int``, ``value_floats`` and
the like raise (35 cases of the onnx backend suite), and operators that need a constant operand
look for an initializer.

See https://github.com/apache/tvm/issues/15719.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from forge.prepare.onnx.graphs import all_graphs, domain_of
from forge.specs import Step

_SCALARS_AND_LISTS = {
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_float": np.float32,
    "value_floats": np.float32,
}


def bind_constant_nodes(model: Any) -> Step:
    """Replace Constant nodes in place, wherever the value is a dense numeric tensor."""
    count = 0
    for graph in all_graphs(model.graph):
        kept = []
        for node in graph.node:
            tensor = _tensor_of(node)
            if tensor is None:
                kept.append(node)
                continue
            graph.initializer.append(tensor)
            count += 1
        if len(kept) != len(graph.node):
            nodes = list(kept)
            del graph.node[:]
            graph.node.extend(nodes)
    return Step("bind-constant-nodes", "TVM reads only one of Constant's attributes", count)


def _tensor_of(node: Any) -> Any:
    if node.op_type != "Constant" or domain_of(node) or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.name == "value" and attribute.t.data_type != TensorProto.STRING:
        tensor = type(attribute.t)()
        tensor.CopyFrom(attribute.t)
        tensor.name = node.output[0]
        return tensor
    dtype = _SCALARS_AND_LISTS.get(attribute.name)
    if dtype is None:
        return None
    value = helper.get_attribute_value(attribute)
    return numpy_helper.from_array(np.array(value, dtype=dtype), name=node.output[0])
