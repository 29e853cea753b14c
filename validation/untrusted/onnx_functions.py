"""Bound what a model's own functions become once they are inlined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forge import InvalidInput

# Nodes. The largest models that people export have some ten thousand.
_MOST_NODES = 1_000_000
Key = tuple[str, str, str]


def check_functions(model: Any, where: str) -> None:
    """Refuse functions that call themselves, or that double at every level.

    Args:
        model: An ``onnx.ModelProto``.
        where: The file, for the error.

    Raises:
        InvalidInput: Inlining them would not end, or would take more than a million nodes.
    """
    if not model.functions:
        return
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    if len(functions) != len(model.functions):
        raise InvalidInput(f"{where!r} defines a function twice.")
    sizes: dict[Key, int] = {}
    for key in functions:
        _measure(key, functions, sizes, where)
    total = sum(sizes.get(key, 0) + 1 for key in _calls(model.graph.node))
    if total > _MOST_NODES:
        raise InvalidInput(
            f"{where!r} has functions that call functions, {total} nodes in all; at most "
            f"{_MOST_NODES} are inlined."
        )


def _measure(start: Key, functions: dict[Key, Any], sizes: dict[Key, int], where: str) -> None:
    """Count the nodes of a function and of those that it calls, without recursion."""
    path: list[Key] = [start]
    while path:
        key = path[-1]
        if key in sizes:
            path.pop()
            continue
        calls = list(_calls(functions[key].node))
        missing = [called for called in calls if called in functions and called not in sizes]
        if not missing:
            # Cut off: a number of a thousand digits would itself take long.
            size = sum(sizes.get(called, 0) + 1 for called in calls)
            sizes[key] = min(size, _MOST_NODES + 1)
            path.pop()
        elif missing[0] in path:
            raise InvalidInput(
                f"the function {key[0]}::{key[1]} of {where!r} calls itself, directly or not.",
                hint="ONNX functions are inlined, so that this would not end",
            )
        else:
            path.append(missing[0])


def _calls(nodes: Any) -> Iterator[Key]:
    """Name what every node calls, those of subgraphs included."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        yield (node.domain, node.op_type, node.overload)
        for attribute in node.attribute:
            pending.extend(attribute.g.node)
            for graph in attribute.graphs:
                pending.extend(graph.node)
