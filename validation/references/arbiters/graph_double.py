"""Turn a TensorFlow graph into one that computes in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from forge import UnsupportedOperator
from validation.references.arbiters.graph_batch_norm import write_out_batch_norms

_FLOATS = (tf.float16.as_datatype_enum, tf.bfloat16.as_datatype_enum, tf.float32.as_datatype_enum)
_DOUBLE = tf.float64.as_datatype_enum
# The bits of a float64 are others.
_NEVER = ("Bitcast",)
_conversions = itertools.count()

Function = Callable[[Sequence[Any]], Sequence[Any]]


def float64_function(concrete: Any) -> Function:
    """Make a float64 form of a concrete function, which takes and gives flat tensors.

    Variables are frozen; every floating-point type, constant and argument of the graph and of the
    functions it calls becomes float64. FusedBatchNorm, which has no such form, is written out.

    Raises:
        UnsupportedOperator: Operators that have no float64 form, all of them.
    """
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=False)
    graph = frozen.graph.as_graph_def()
    write_out_batch_norms(graph)
    _refuse(graph)
    _widen_graph(graph)
    _rename_functions(graph)
    inputs = [tensor.name for tensor in frozen.inputs]
    outputs = [tensor.name for tensor in frozen.outputs]

    def import_graph() -> None:
        tf.graph_util.import_graph_def(graph, name="")

    wrapped = tf.compat.v1.wrap_function(import_graph, [])
    pruned = wrapped.prune(
        [wrapped.graph.get_tensor_by_name(name) for name in inputs],
        [wrapped.graph.get_tensor_by_name(name) for name in outputs],
    )
    narrow = sorted(narrow_operators(wrapped.graph))
    if narrow:
        raise UnsupportedOperator(
            f"float32 is left in {', '.join(narrow)}: this would be no float64 run.",
            operators=narrow,
        )
    return lambda tensors: tf.nest.flatten(pruned(*tensors))


def narrow_operators(graph: Any) -> set[str]:
    """Name the operators of a FuncGraph, and of the functions in it, with a narrow result."""
    found = {
        operation.type
        for operation in graph.get_operations()
        for tensor in operation.outputs
        if tensor.dtype.is_floating and tensor.dtype != tf.float64
    }
    for function in graph.as_graph_def().library.function:
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            if argument.type in _FLOATS:
                found.add(function.signature.name)
        found |= {node.op for node in function.node_def if _is_narrow(node)}
    return found


def _is_narrow(node: Any) -> bool:
    return any(_dtypes(value) for value in node.attr.values())


def _bodies(graph: Any) -> Iterator[Any]:
    yield graph.node
    for function in graph.library.function:
        yield function.node_def


def _refuse(graph: Any) -> None:
    own = {function.signature.name for function in graph.library.function}
    refused = sorted(
        {
            node.op
            for nodes in _bodies(graph)
            for node in nodes
            if node.op not in own and not _has_float64_form(node)
        }
    )
    if refused:
        raise UnsupportedOperator(
            f"TensorFlow has no float64 form of {', '.join(refused)}.", operators=refused
        )


def _has_float64_form(node: Any) -> bool:
    definition = op_def_registry.get(node.op)
    if definition is None or node.op in _NEVER:
        return False
    if any(each.type in _FLOATS for each in (*definition.input_arg, *definition.output_arg)):
        return False
    for attribute in definition.attr:
        allowed = attribute.allowed_values.list.type
        # Reading a missing key of a protobuf map would add it.
        if not allowed or attribute.name not in node.attr:
            continue
        if _dtypes(node.attr[attribute.name]) and _DOUBLE not in allowed:
            return False
    return True


def _dtypes(value: Any) -> list[int]:
    """List the floating-point types that an attribute names."""
    named = [value.type, *value.list.type]
    if value.HasField("tensor"):
        named.append(value.tensor.dtype)
    return [each for each in named if each in _FLOATS]


def _widen_graph(graph: Any) -> None:
    for nodes in _bodies(graph):
        for node in nodes:
            for value in node.attr.values():
                _widen_attribute(value)
    for function in graph.library.function:
        for argument in (*function.signature.input_arg, *function.signature.output_arg):
            if argument.type in _FLOATS:
                argument.type = _DOUBLE
        for value in function.attr.values():
            _widen_attribute(value)


def _rename_functions(graph: Any) -> None:
    """Rename the functions: TensorFlow knows those of the process by name, and has the old ones."""
    suffix = f"_float64_{next(_conversions)}"
    names = {each.signature.name for each in graph.library.function}
    for nodes in _bodies(graph):
        for node in nodes:
            node.op += suffix if node.op in names else ""
            for value in node.attr.values():
                for function in (value.func, *value.list.func):
                    if function.name in names:
                        function.name += suffix
    for each in graph.library.function:
        each.signature.name += suffix


def _widen_attribute(value: Any) -> None:
    if value.HasField("tensor") and value.tensor.dtype in _FLOATS:
        array = tf.make_ndarray(value.tensor).astype(np.float64)
        value.tensor.CopyFrom(tf.make_tensor_proto(array))
    elif value.type in _FLOATS:
        value.type = _DOUBLE
    elif value.list.type:
        wider = [_DOUBLE if each in _FLOATS else each for each in value.list.type]
        del value.list.type[:]
        value.list.type.extend(wider)
