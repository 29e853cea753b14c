"""Check that a SavedModel saves and restores as TensorFlow's own saver does.

The operators that write and read checkpoints stand in every SavedModel, and in any other place they
write to or read from wherever the graph says. TensorFlow's saver takes the file's name from its
caller; so here a name that the graph itself brings along is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forge import InvalidInput
from validation.untrusted.tensorflow_operators import SAVING

# Nodes between a name and where it is used; the saver has some five.
_MOST_STEPS = 1000


def check_savers(meta: Any, where: str) -> None:
    """Refuse a checkpoint's name that is not the caller's.

    Args:
        meta: A ``MetaGraphDef``.
        where: The folder, for the error.

    Raises:
        InvalidInput: Names every operator that does so.
    """
    graph = meta.graph_def
    savers = {
        f.signature.name for f in graph.library.function if any(n.op in SAVING for n in f.node_def)
    }
    faults = _own_names(graph.node, set(), savers, top=True)
    for function in graph.library.function:
        arguments = {argument.name for argument in function.signature.input_arg}
        faults += [
            f"{fault} in {function.signature.name}"
            for fault in _own_names(function.node_def, arguments, savers, top=False)
        ]
    if faults:
        raise InvalidInput(
            f"{where} reads or writes files of its own choice: {', '.join(sorted(set(faults)))}.",
            hint="open it with trust only if you know who made it (--trust)",
        )


def _own_names(nodes: Iterable[Any], arguments: set[str], savers: set[str], top: bool) -> list[str]:
    by_name = {node.name: node for node in nodes}
    faults = []
    for node in by_name.values():
        functions = [a.func.name for a in node.attr.values() if a.HasField("func")]
        calls = [name for name in (node.op, *functions) if name in savers]
        if calls and not top:
            # A saver is called by whoever loads the model, not from within it.
            faults.append(f"a call of {calls[0]}")
        elif node.op in SAVING or calls:
            # The name, or names, come first in all of them.
            names = node.input[:2] if node.op == "MergeV2Checkpoints" else node.input[:1]
            if not names or not all(_is_callers(name, by_name, arguments) for name in names):
                faults.append(node.op)
    return faults


def _is_callers(name: str, by_name: Mapping[str, Any], arguments: set[str]) -> bool:
    """Tell whether a path is the caller's, with at most fixed parts joined to its end."""
    pending = [(name, True)]
    steps = 0
    while pending:
        source, head = pending.pop()
        source = source.lstrip("^").partition(":")[0]
        steps += 1
        if steps > _MOST_STEPS:
            return False
        if source in arguments:
            continue
        node = by_name.get(source)
        if node is None:
            return False
        inputs = [each for each in node.input if not each.startswith("^")]
        if node.op == "Const":
            if head or not _is_plain(node):
                return False
        elif node.op == "PlaceholderWithDefault":
            if not _is_plain_default(inputs, by_name):
                return False
        elif node.op in ("StringJoin", "ShardedFilename"):
            pending += [(each, head and position == 0) for position, each in enumerate(inputs)]
        elif node.op in ("Identity", "Pack"):
            pending += [(each, head) for each in inputs]
        elif node.op in ("Select", "SelectV2"):
            pending += [(each, head) for each in inputs[1:]]
        elif node.op != "Placeholder":
            return False
    return True


def _is_plain_default(inputs: Sequence[str], by_name: Mapping[str, Any]) -> bool:
    """Tell whether a default leads nowhere; the saver of TensorFlow 1 has "model", twice over."""
    for _ in range(_MOST_STEPS):
        node = by_name.get(inputs[0].partition(":")[0]) if inputs else None
        if node is None or node.op != "PlaceholderWithDefault":
            return node is not None and node.op == "Const" and _is_plain(node, whole=True)
        inputs = node.input
    return False


def _is_plain(node: Any, whole: bool = False) -> bool:
    """Tell whether constant texts, or numbers, lead nowhere by themselves."""
    values = [value.decode(errors="replace") for value in node.attr["value"].tensor.string_val]
    return not any(
        ".." in value or "://" in value or (whole and value.startswith("/")) for value in values
    )
