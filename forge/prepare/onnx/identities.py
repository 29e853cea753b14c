"""Take Identity nodes out of the top graph.

TVM's frontend (0.25–0.27) refuses an Identity of a shape (``cannot handle ShapeExpr inputs``), and
exporters put one wherever a value has two names.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/onnx/onnx_frontend.py.
"""

from __future__ import annotations

from typing import Any

from forge.prepare.onnx.graphs import all_nodes, domain_of, subgraphs
from forge.specs import Step


def remove_identities(model: Any) -> Step:
    """Let readers of an Identity read its input, in place; one that makes a graph output stays."""
    graph = model.graph
    outputs = {value.name for value in graph.output}
    source: dict[str, str] = {}
    kept = []
    for node in graph.node:
        is_identity = node.op_type == "Identity" and not domain_of(node)
        if is_identity and node.output[0] not in outputs:
            source[node.output[0]] = source.get(node.input[0], node.input[0])
        else:
            kept.append(node)
    if source:
        for node in all_nodes(graph):
            for index, name in enumerate(node.input):
                node.input[index] = source.get(name, name)
            for inner in subgraphs(node):
                for output in inner.output:
                    output.name = source.get(output.name, output.name)
        del graph.node[:]
        graph.node.extend(kept)
    return Step("remove-identities", "TVM refuses an Identity of a shape", len(source))
