"""Tables of a TensorFlow model: variables and constants from which a gather takes rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from validation.inputs.tables.walk import reached, smallest

_PASSED_ON = frozenset("Cast ExpandDims Identity Reshape Squeeze Tile Transpose".split())
# Keras counts negative indices from the end: SelectV2(index < 0, index + rows, index).
_CHOSEN = frozenset({"SelectV2", "Select"})


def table_sizes(model: Any, options: Mapping[str, Any]) -> dict[str, int]:
    """See ``validation.inputs.tables``."""
    from forge.prepare.tensorflow.entry_points import signature_of

    signature = signature_of(
        model, options.get("shape_dict"), options.get("outputs"), options.get("signature")
    )
    if not any(np.dtype(spec.dtype).kind in "iu" for spec in signature.inputs):
        return {}
    return sizes_of(signature)


def sizes_of(signature: Any) -> dict[str, int]:
    """Trace a signature, with all its functions inlined and variables as constants."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    from forge.prepare.tensorflow.trace import trace

    function, _ = trace(signature)
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    nodes = {node.name: node for node in frozen.graph.as_graph_def().node}
    names = {tensor.op.name: spec.name for tensor, spec in zip(frozen.inputs, signature.inputs)}

    def parents(name: str) -> Sequence[str]:
        node = nodes.get(name)
        if node is None:
            return ()
        if node.op in _CHOSEN:
            return [_source(node.input[2])]
        return [_source(node.input[0])] if node.op in _PASSED_ON else ()

    def found() -> Iterator[tuple[str, int]]:
        for node in nodes.values():
            if node.op not in ("GatherV2", "Gather") or not _along_rows(node, nodes):
                continue
            tables = [nodes[n] for n in reached(_source(node.input[0]), parents) if n in nodes]
            rows = [r for table in tables if (r := _rows(table))]
            indices = reached(_source(node.input[1]), parents)
            yield from ((names[i], size) for i in indices if i in names for size in rows)

    return smallest(found())


def _source(tensor: str) -> str:
    return tensor.lstrip("^").partition(":")[0]


def _rows(node: Any) -> int:
    if node.op != "Const":
        return 0
    dims = node.attr["value"].tensor.tensor_shape.dim
    return int(dims[0].size) if dims else 0


def _along_rows(node: Any, nodes: Mapping[str, Any]) -> bool:
    if node.op == "Gather":
        return True
    from tensorflow import make_ndarray

    axis = nodes[_source(node.input[2])]
    at_rows = axis.op == "Const" and int(make_ndarray(axis.attr["value"].tensor)) == 0
    return at_rows and not node.attr["batch_dims"].i
