"""Replace what is known before the model runs by its value: shapes, and nodes of constants.

TVM's frontend (0.25–0.27) refuses most operators on a shape that it holds as an expression (187 of
the onnx backend suite's cases), wants axes and sizes as constants, and folds constants itself
through float64 (apache/tvm 20281). The values come from ONNX's reference evaluator, which is numpy:
not from the runtime that a checker later compares with.

See https://github.com/apache/tvm/issues/20281.
See https://github.com/apache/tvm/issues/19974.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from forge.prepare.onnx.graphs import domain_of, names_read, opset_of, subgraphs
from forge.prepare.onnx.inference import inferred_graph
from forge.specs import Step

# A folded value may be this large, or as large as the constants that it was made of.
_GROWTH_LIMIT = 1 << 20
# Each round can make new shapes known; deep shape arithmetic takes a handful.
_MOST_ROUNDS = 8
_NOT_DETERMINISTIC = frozenset(
    {
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)


def bind_known_values(model: Any) -> Step:
    """Turn nodes whose outputs are known into initializers, in place, in the top graph."""
    folded: dict[str, None] = {}
    for _ in range(_MOST_ROUNDS):
        names = _one_round(model)
        folded.update(dict.fromkeys(names))
        if not names:
            break
    return Step(
        "bind-known-values",
        "TVM wants shapes, axes and sizes as constants, and folds int64 through float64",
        len(folded),
    )


def _one_round(model: Any) -> list[str]:
    graph = model.graph
    shapes = static_shapes(model)
    constants = {tensor.name: tensor for tensor in graph.initializer}
    outputs = {value.name for value in graph.output}
    shape_of = {n.output[0]: n for n in graph.node if n.op_type == "Shape" and not domain_of(n)}
    opset = opset_of(model)
    kept, names = [], []
    for node in graph.node:
        values = None
        if not outputs.intersection(node.output):
            values = _values_of(node, constants, shapes, shape_of, opset)
        if values is None:
            kept.append(node)
            continue
        for name, value in values.items():
            tensor = numpy_helper.from_array(value, name)
            graph.initializer.append(tensor)
            constants[name] = tensor
            names.append(name)
    if names:
        del graph.node[:]
        graph.node.extend(kept)
        _drop_unused(graph)
    return names


def static_shapes(model: Any) -> dict[str, list[int | None]]:
    """Give the shape of every value whose rank is known; None for an open dimension."""
    inferred = inferred_graph(model)
    shapes = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    for value in (*inferred.value_info, *inferred.input):
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
            shapes[value.name] = [
                int(d.dim_value) if d.HasField("dim_value") and d.dim_value >= 0 else None
                for d in value.type.tensor_type.shape.dim
            ]
    return shapes


def _values_of(
    node: Any,
    constants: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int | None]],
    shape_of: Mapping[str, Any],
    opset: int,
) -> dict[str, np.ndarray] | None:
    if domain_of(node) or node.op_type in _NOT_DETERMINISTIC or any(True for _ in subgraphs(node)):
        return None
    known = _from_shape(node, constants, shapes, shape_of)
    if known is not None:
        return {node.output[0]: known}
    names = [name for name in node.input if name]
    if not names or any(name not in constants for name in names):
        return None
    operands = {name: numpy_helper.to_array(constants[name]) for name in names}
    if any(array.dtype.kind not in "fiub" for array in operands.values()):
        return None
    return _evaluate(node, operands, opset)


def _from_shape(
    node: Any,
    constants: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int | None]],
    shape_of: Mapping[str, Any],
) -> np.ndarray | None:
    """Know Shape and Size of static tensors, and the static dimensions that Gather picks."""
    if node.op_type in ("Shape", "Size"):
        dims = shapes.get(node.input[0])
        if dims is None:
            return None
        dims = _slice_of(node, dims) if node.op_type == "Shape" else dims
        if any(dim is None for dim in dims):
            return None
        whole = np.array(dims, dtype=np.int64)
        return whole if node.op_type == "Shape" else np.array(whole.prod(), dtype=np.int64)
    if node.op_type == "Gather" and node.input[0] in shape_of and node.input[1] in constants:
        shape_node = shape_of[node.input[0]]
        dims = shapes.get(shape_node.input[0])
        index = numpy_helper.to_array(constants[node.input[1]])
        if dims is None:
            return None
        dims = _slice_of(shape_node, dims)
        if index.size and (index.min() < -len(dims) or index.max() >= len(dims)):
            return None
        picked = [dims[i] for i in index.ravel()]
        if all(dim is not None for dim in picked):
            return np.array(picked, dtype=np.int64).reshape(index.shape)
    return None


def _slice_of(node: Any, dims: Sequence[int | None]) -> Sequence[int | None]:
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return dims[attributes.get("start", 0) : attributes.get("end", len(dims))]


def _evaluate(
    node: Any, operands: Mapping[str, np.ndarray], opset: int
) -> dict[str, np.ndarray] | None:
    """Evaluate one node; None leaves it in the graph, where its fault shows at run time."""
    arrays = list(operands.values())
    integers = all(array.dtype.kind in "iub" for array in arrays)
    limit = max(_GROWTH_LIMIT, sum(array.nbytes for array in arrays))
    if _announced_size(node, operands) > limit:
        return None
    try:
        # An integer divided by zero has no value; a float has one.
        with np.errstate(all="ignore", divide="raise" if integers else "ignore"):
            if integers and node.op_type == "Div":
                results = [_truncating_division(*(operands[name] for name in node.input))]
            else:
                evaluator = ReferenceEvaluator(node, opsets={"": opset})
                results = evaluator.run(None, dict(operands))
    except Exception:
        return None
    values = {
        name: np.asarray(value) for name, value in zip(node.output, results, strict=False) if name
    }
    if any(v.dtype.kind not in "fiub" or v.nbytes > limit for v in values.values()):
        return None
    return values


def _announced_size(node: Any, operands: Mapping[str, np.ndarray]) -> int:
    """Bound the bytes of operators whose size is one of their values, before computing them."""
    if node.op_type in ("ConstantOfShape", "Expand", "Tile"):
        factors = operands[node.input[-1]].astype(np.float64)
        size = 8 * float(np.prod(np.abs(factors))) if factors.size else 8.0
        if node.op_type == "Tile":
            size *= operands[node.input[0]].size
        return int(min(size, 1e18))
    if node.op_type == "Range":
        start, limit, delta = (float(operands[name]) for name in node.input)
        return int(min(8 * abs((limit - start) / delta), 1e18)) if delta else 0
    return 0


def _truncating_division(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide exactly; the reference evaluator of onnx 1.17 divides integers through float64."""
    quotient = np.floor_divide(a, b)
    inexact = (quotient * b != a) & ((a < 0) != (b < 0))
    result: np.ndarray = (quotient + inexact).astype(np.result_type(a, b))
    return result


def _drop_unused(graph: Any) -> None:
    """Take out nodes and initializers that folding has left without a reader."""
    used = {output.name for output in graph.output} | {value.name for value in graph.input}
    nodes = []
    for node in reversed(graph.node):
        if not used.isdisjoint(node.output):
            nodes.append(node)
            used |= names_read(node)
    tensors = [tensor for tensor in graph.initializer if tensor.name in used]
    for field, kept in ((graph.node, nodes[::-1]), (graph.initializer, tensors)):
        if len(kept) != len(field):
            del field[:]
            field.extend(kept)
