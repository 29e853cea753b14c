"""Look through a stranger's TensorFlow graph before TensorFlow does.

``tf.saved_model.load`` already runs parts of it: what restores variables and initialises tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forge import InvalidInput
from validation.untrusted.files import files_under, read_file
from validation.untrusted.protobufs import parse
from validation.untrusted.tensorflow_operators import SAVING, reaches_out
from validation.untrusted.tensorflow_savers import check_savers

_TRUST = "open it with trust only if you know who made it (--trust)"
# Calls, counted as if every function were inlined, as TensorFlow's optimiser does.
_MOST_NODES = 5_000_000


def read_graph(path: Path, trust: bool) -> Any:
    """Read a frozen ``GraphDef``.

    Args:
        path: The file.
        trust: It may hold operators that reach outside the graph.

    Raises:
        InvalidInput: It is no ``GraphDef``, has no nodes, or needs ``trust`` and has it not.
    """
    from tensorflow.core.framework.graph_pb2 import GraphDef

    hint = "a .pb file must be a frozen graph in binary form"
    graph = parse(GraphDef(), read_file(path), str(path), "a GraphDef", hint)
    if not graph.node:
        raise InvalidInput(f"{path} holds a GraphDef without nodes.", hint=hint)
    check_library(graph, str(path))
    if not trust:
        nodes = list(nodes_of(graph))
        found = reaches_out(nodes)
        found += sorted({node.op for node in nodes if node.op in SAVING})
        _refuse(path, found)
    return graph


def check_saved_model(folder: Path, trust: bool) -> None:
    """Check a SavedModel's folder and every graph in it.

    Raises:
        InvalidInput: It is none; a link or an asset leads outside; or it holds operators that
            reach outside and has no ``trust``.
    """
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    file = folder / "saved_model.pb"
    if not file.is_file():
        raise InvalidInput(
            f"{folder} holds no saved_model.pb.", hint="give the folder that holds it"
        )
    for path, _ in files_under(folder):
        if path.name == "saved_model.cpb":
            raise InvalidInput(
                f"{path} is a SavedModel in pieces, beside one that is whole.",
                hint="save the model again without proto splitting",
            )
    hint = "a SavedModel's folder is written by tf.saved_model.save; was it copied whole?"
    saved = parse(SavedModel(), read_file(file), str(file), "a SavedModel", hint)
    if not saved.meta_graphs:
        raise InvalidInput(f"{file} cannot be read as a SavedModel: it holds no graph.", hint=hint)
    for meta in saved.meta_graphs:
        check_library(meta.graph_def, str(file))
        _check_assets(file, meta)
        if not trust:
            _refuse(folder, reaches_out(nodes_of(meta.graph_def)))
            check_savers(meta, str(folder))


def nodes_of(graph: Any) -> Iterator[Any]:
    """List the nodes of a ``GraphDef`` and of all functions in its library, called or not."""
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def check_library(graph: Any, where: str) -> None:
    """Refuse functions that call themselves, or that double at every level.

    Args:
        graph: A ``GraphDef``.
        where: The file, for the error.

    Raises:
        InvalidInput: Inlining them would not end, or would take more than five million nodes.
    """
    functions = {f.signature.name: f for f in graph.library.function}
    sizes: dict[str, int] = {}
    for start in functions:
        path = [start]
        while path:
            name = path[-1]
            calls = [c for n in functions[name].node_def for c in called_by(n) if c in functions]
            missing = [called for called in calls if called not in sizes]
            if name in sizes or not missing:
                sizes[name] = min(
                    len(functions[name].node_def) + sum(sizes.get(called, 0) for called in calls),
                    _MOST_NODES,
                )
                path.pop()
            elif missing[0] in path:
                raise InvalidInput(
                    f"the function {missing[0]!r} of {where} calls itself, directly or not.",
                    hint="export the model without recursion",
                )
            else:
                path.append(missing[0])
    total = sum(sizes.get(called, 0) for node in graph.node for called in called_by(node))
    if max([total, *sizes.values()]) >= _MOST_NODES:
        raise InvalidInput(
            f"{where} has functions that call functions, {_MOST_NODES} nodes or more in all.",
            hint="export the model without its training functions",
        )


def called_by(node: Any) -> Iterator[str]:
    """Name what a node calls: its operator, and the functions among its attributes."""
    yield node.op
    for attribute in node.attr.values():
        if attribute.HasField("func"):
            yield attribute.func.name
        for function in attribute.list.func:
            yield function.name


def _check_assets(file: Path, meta: Any) -> None:
    """Refuse assets outside the folder, whichever of the three places names them."""
    from tensorflow.core.protobuf.meta_graph_pb2 import AssetFileDef

    names = [asset.filename for asset in meta.asset_file_def]
    for entry in meta.collection_def["saved_model_assets"].any_list.value:
        asset = AssetFileDef()
        entry.Unpack(asset)
        names.append(asset.filename)
    for name in names:
        if (
            name.startswith(("/", "\\"))
            or ".." in name.replace("\\", "/").split("/")
            or "://" in name
        ):
            raise InvalidInput(
                f"{file} names the asset {name!r}, which lies outside the model's folder.",
                hint="an asset stands in the folder assets of the SavedModel",
            )


def _refuse(path: Path, found: list[str]) -> None:
    if found:
        raise InvalidInput(f"{path} reaches outside its graph: {', '.join(found)}.", hint=_TRUST)
