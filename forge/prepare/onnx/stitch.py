"""Cut a model at operators that a caller converts, import the pieces, and join them in Relax.

TVM's ONNX frontend takes no converters from outside (0.25–0.27). So the graph is split by depth:
piece k holds the nodes that depend on k custom operators in a row. What a custom operator gives
becomes a graph input of the next piece; the pieces become functions, and are inlined.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/onnx/onnx_frontend.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from onnx import helper, numpy_helper
from tvm import relax

from forge import _tvm
from forge.errors import InvalidInput, LoadError
from forge.prepare.onnx.graphs import model_inputs, names_read, operator_name

Converter = Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]
ImportPiece = Callable[[Any], Any]


def import_with_converters(
    model: Any, converters: Mapping[str, Converter], import_piece: ImportPiece
) -> Any:
    """Import a model whose custom operators the caller converts.

    Args:
        model: An ``onnx.ModelProto``; its custom operators stand in the top graph.
        converters: ``f(builder, inputs, attrs) -> relax.Expr`` (or a tuple of them) by
            ``domain::Name``. ``inputs`` holds None where an optional one is left out.
        import_piece: Imports a ``ModelProto`` without custom operators into a ``tvm.IRModule``.

    Raises:
        InvalidInput: A converter gave something else than one expression an output.
        LoadError: A custom operator gets or gives a tensor of unknown rank.
    """
    graph = model.graph
    constants = {t.name: t for t in graph.initializer}
    pieces, custom = _split_by_depth(graph, set(converters))
    builder = relax.BlockBuilder()
    params = [_parameter(value) for value in _typed_inputs(model, import_piece)]
    names = [value.name for value in model_inputs(graph)]
    values: dict[str, Any] = dict(zip(names, params, strict=True))

    def value_of(name: str) -> Any:
        if not name:
            return None
        if name not in values:
            values[name] = _tvm.constant(numpy_helper.to_array(constants[name]))
        return values[name]

    with builder.function("main", params):
        with builder.dataflow():
            for depth, nodes in enumerate(pieces):
                wanted = _wanted_outside(graph, nodes)
                if wanted:
                    piece, inputs = _piece(model, nodes, wanted, values)
                    results = _call_piece(builder, import_piece(piece), inputs, values, depth)
                    values.update(zip(wanted, results, strict=True))
                for node in custom[depth]:
                    outputs = _convert(builder, node, [value_of(n) for n in node.input], converters)
                    values.update(zip(node.output, outputs, strict=True))
            results = [value_of(output.name) for output in graph.output]
            joined = results[0] if len(results) == 1 else relax.Tuple(results)
            result = builder.emit_output(joined)
        builder.emit_func_output(result)
    module = builder.get()
    return relax.transform.InlinePrivateFunctions()(module)


def _split_by_depth(graph: Any, custom_names: set[str]) -> tuple[list[list[Any]], list[list[Any]]]:
    depth_of: dict[str, int] = {}
    placed: list[tuple[int, bool, Any]] = []
    for node in graph.node:
        depth = max((depth_of.get(name, 0) for name in names_read(node)), default=0)
        is_custom = operator_name(node) in custom_names
        placed.append((depth, is_custom, node))
        depth_of.update(dict.fromkeys(node.output, depth + is_custom))
    count = 1 + max((depth + is_custom for depth, is_custom, _ in placed), default=0)
    pieces: list[list[Any]] = [[] for _ in range(count)]
    custom: list[list[Any]] = [[] for _ in range(count)]
    for depth, is_custom, node in placed:
        (custom if is_custom else pieces)[depth].append(node)
    return pieces, custom


def _wanted_outside(graph: Any, nodes: Sequence[Any]) -> list[str]:
    made = [name for node in nodes for name in node.output if name]
    inside = {id(node) for node in nodes}
    read = {name for n in graph.node if id(n) not in inside for name in names_read(n)}
    read |= {output.name for output in graph.output}
    return [name for name in made if name in read]


def _piece(
    model: Any, nodes: Sequence[Any], wanted: Sequence[str], values: Mapping[str, Any]
) -> tuple[Any, list[str]]:
    made = {name for node in nodes for name in node.output}
    read = sorted({name for node in nodes for name in names_read(node)} - made)
    constants = [t for t in model.graph.initializer if t.name in read]
    held = {tensor.name for tensor in constants}
    inputs = [name for name in read if name not in held]
    graph = helper.make_graph(
        nodes,
        "piece",
        [_value_info(name, values[name].ty) for name in inputs],
        [helper.make_empty_tensor_value_info(name) for name in wanted],
        initializer=constants,
    )
    piece = helper.make_model(graph, opset_imports=model.opset_import)
    piece.ir_version = model.ir_version
    return piece, inputs


def _value_info(name: str, tensor_type: Any) -> Any:
    dims = _tvm.dims_of(tensor_type)
    if dims is None:
        raise LoadError(
            f"the shape of {name!r}, which a custom operator reads or gives, is unknown."
        )
    # A dimension that is an expression, such as N*2, gets a name of its own in the piece;
    # the call's types tie it to the expression again.
    named = [
        dim if isinstance(dim, int) or dim.isidentifier() else f"{_identifier(name)}_d{axis}"
        for axis, dim in enumerate(dims)
    ]
    dtype = helper.np_dtype_to_tensor_dtype(np.dtype(_tvm.dtype_of(tensor_type)))
    return helper.make_tensor_value_info(name, dtype, named)


def _identifier(name: str) -> str:
    return "v_" + "".join(c if c.isalnum() else "_" for c in name)


def _typed_inputs(model: Any, import_piece: ImportPiece) -> list[Any]:
    """Let TVM type the graph's inputs itself, so that symbolic dims are as it makes them."""
    inputs = model_inputs(model.graph)
    if not inputs:
        return []
    nodes = [
        helper.make_node("Identity", [value.name], [f"{value.name}__same"]) for value in inputs
    ]
    outputs = [helper.make_empty_tensor_value_info(node.output[0]) for node in nodes]
    probe = helper.make_model(
        helper.make_graph(nodes, "inputs", inputs, outputs), opset_imports=model.opset_import
    )
    probe.ir_version = model.ir_version
    return list(import_piece(probe)["main"].params)


def _parameter(typed: Any) -> Any:
    return relax.Var(typed.name, typed.ty)


def _call_piece(
    builder: Any, module: Any, inputs: Sequence[str], values: Mapping[str, Any], depth: int
) -> list[Any]:
    main = _adopt(builder, module)
    private = main.without_attr("num_input").without_attr("global_symbol")
    function = builder.add_func(private, f"piece_{depth}")
    result = builder.emit(relax.Call(function, [values[name] for name in inputs]))
    if isinstance(result.ty, relax.TupleType):
        return [builder.emit(relax.TupleGetItem(result, i)) for i in range(len(result.ty.fields))]
    return [result]


def _adopt(builder: Any, module: Any) -> Any:
    """Move a piece's primitive functions into the builder under names that are free there."""
    renamed = {
        name: builder.add_func(function, name.name_hint)
        for name, function in module.functions.items()
        if isinstance(function, tvm.tirx.PrimFunc)
    }

    @relax.expr_functor.mutator
    class Rename(relax.PyExprMutator):  # type: ignore[misc]
        def visit_global_var_(self, variable: Any) -> Any:
            return renamed.get(variable, variable)

    return Rename(module).visit_expr(module["main"]) if renamed else module["main"]


def _convert(
    builder: Any, node: Any, inputs: Sequence[Any], converters: Mapping[str, Converter]
) -> list[Any]:
    name = operator_name(node)
    attributes = {a.name: _plain(helper.get_attribute_value(a)) for a in node.attribute}
    given = converters[name](builder, inputs, attributes)
    results = list(given) if isinstance(given, (tuple, list, relax.Tuple)) else [given]
    if len(results) != len(node.output) or not all(isinstance(r, relax.Expr) for r in results):
        raise InvalidInput(
            f"the converter of {name} gave {given!r}; the node has {len(node.output)} outputs.",
            hint="return one relax.Expr an output, as a tuple where there are several",
        )
    return [builder.emit(result) for result in results]


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
