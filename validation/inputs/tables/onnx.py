"""Tables of an ONNX model: constants from which Gather takes rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forge.prepare.onnx.graphs import model_inputs
from validation.inputs.tables.walk import reached, smallest

# Of these the first input goes on, with its numbers as they are.
_PASSED_ON = frozenset(
    "Cast Expand Flatten Identity Reshape Slice Squeeze Tile Transpose Unsqueeze".split()
)
_SAME_ROWS = frozenset("Cast DequantizeLinear Identity".split())


def table_sizes(model: Any, options: Mapping[str, Any]) -> dict[str, int]:
    """See ``validation.inputs.tables``; branches and functions are not looked into."""
    graph = model.graph
    inputs = {value.name for value in model_inputs(graph)}
    producers = {name: node for node in graph.node for name in node.output}
    rows = {tensor.name: _rows(tensor) for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            rows[node.output[0]] = _rows(node.attribute[0].t)

    def found() -> Iterator[tuple[str, int]]:
        for node in graph.node:
            if node.op_type != "Gather" or any(a.name == "axis" and a.i for a in node.attribute):
                continue
            tables = reached(node.input[0], lambda name: _passed(producers.get(name), _SAME_ROWS))
            sizes = [rows[name] for name in tables if name in rows]
            indices = reached(node.input[1], lambda name: _passed(producers.get(name), _PASSED_ON))
            yield from ((name, size) for name in indices & inputs for size in sizes)

    return smallest(found())


def _rows(tensor: Any) -> int:
    return int(tensor.dims[0]) if tensor.dims else 0


def _passed(node: Any, operators: frozenset[str]) -> Sequence[str]:
    return node.input[:1] if node is not None and node.op_type in operators else ()
