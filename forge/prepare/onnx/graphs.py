"""Walk ONNX graphs and name what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

DEFAULT_DOMAIN = ""


def domain_of(node: Any) -> str:
    """Give a node's domain; ``ai.onnx`` is another spelling of the default one."""
    return DEFAULT_DOMAIN if node.domain == "ai.onnx" else str(node.domain)


def operator_name(node: Any) -> str:
    """Name a node's operator as ``domain::Name``, the default domain as ``ai.onnx``."""
    return f"{domain_of(node) or 'ai.onnx'}::{node.op_type}"


def subgraphs(node: Any) -> Iterator[Any]:
    """Yield the graphs in a node's attributes, such as the branches of an If."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def all_graphs(graph: Any) -> Iterator[Any]:
    """Yield a graph and all graphs nested in it, outermost first."""
    pending = [graph]
    while pending:
        current = pending.pop()
        yield current
        for node in current.node:
            pending.extend(subgraphs(node))


def all_nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of all graphs nested in it."""
    for each in all_graphs(graph):
        yield from each.node


def names_read(node: Any) -> set[str]:
    """Name what a node reads from its graph, in its branches and bodies too."""
    names = {name for name in node.input if name}
    for graph in subgraphs(node):
        inner = {v.name for v in graph.input} | {t.name for t in graph.initializer}
        inner |= {name for each in graph.node for name in each.output}
        read = {name for each in graph.node for name in names_read(each)}
        names |= (read | {output.name for output in graph.output}) - inner
    return names


def model_inputs(graph: Any) -> list[Any]:
    """List the graph's inputs that a caller must give: those that are no initializers."""
    initialized = {tensor.name for tensor in graph.initializer}
    initialized |= {tensor.values.name for tensor in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in initialized]


def opset_of(model: Any) -> int:
    """Give the version of the default domain's operator set that the model imports, or 1."""
    for entry in model.opset_import:
        if entry.domain in (DEFAULT_DOMAIN, "ai.onnx"):
            return int(entry.version)
    return 1
