"""Evaluate the integer arithmetic on shapes that TFLite models with an open batch carry.

TensorFlow's converter writes ``Reshape`` of a model with an open batch as SHAPE →
STRIDED_SLICE → PACK → RESHAPE. Once the input shapes are fixed the whole chain is constant, but
TVM's frontend takes a target shape only from a constant buffer.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/tflite/tflite_frontend.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forge._tvm import dims_of

_LIMIT = 4096  # elements; a larger value is data, not a shape


def options(op: Any, cls: Any) -> Any:
    """Read the builtin options of an operator."""
    result = cls()
    table = op.BuiltinOptions()
    result.Init(table.Bytes, table.Pos)
    return result


def evaluate(converter: Any, name: str, op: Any) -> list[np.ndarray] | None:
    """Compute an operator's results where they follow from static shapes; None where not."""
    if name in ("SHAPE", "RANK"):
        tensor = converter.get_input_tensors(op)[0]
        if converter.has_constant(int(tensor.tensor_idx)):
            dims: Any = converter.get_tensor_value(tensor).shape
        else:
            dims = dims_of(converter.get_expr(tensor.tensor_idx).ty)
        if dims is None or not all(isinstance(dim, int) for dim in dims):
            return None
        dtype = converter.get_tensor_type_as_numpy(converter.get_output_tensors(op)[0])
        return [np.array(len(dims) if name == "RANK" else dims, dtype=dtype)]
    function = _FUNCTIONS.get(name)
    if function is None:
        return None
    tensors = converter.get_input_tensors(op)
    indices = [int(tensor.tensor_idx) for tensor in tensors]
    if not any(index in converter.known for index in indices):
        return None
    if not all(index >= 0 and converter.has_constant(index) for index in indices):
        return None
    values = [converter.get_tensor_value(tensor) for tensor in tensors]
    if any(value.dtype.kind not in "iub" or value.size > _LIMIT for value in values):
        return None
    outputs = converter.get_output_tensors(op)
    results = function(op, values)
    if results is None:
        return None
    return [
        np.asarray(result, dtype=converter.get_tensor_type_as_numpy(tensor))
        for tensor, result in zip(outputs, results, strict=True)
    ]


def _strided_slice(op: Any, values: list[np.ndarray]) -> list[Any]:
    from tflite.StridedSliceOptions import StridedSliceOptions

    data, begin, end, stride = values
    masks = options(op, StridedSliceOptions)
    index: list[Any] = []
    for i in range(len(begin)):
        bit = 1 << i
        if masks.EllipsisMask() & bit:
            index.append(Ellipsis)
        elif masks.NewAxisMask() & bit:
            index.append(None)
        elif masks.ShrinkAxisMask() & bit:
            index.append(int(begin[i]))
        else:
            first = None if masks.BeginMask() & bit else int(begin[i])
            last = None if masks.EndMask() & bit else int(end[i])
            if masks.Offset() and last is not None and first is not None:
                last += first
            index.append(slice(first, last, int(stride[i])))
    return [data[tuple(index)]]


def _slice(op: Any, values: list[np.ndarray]) -> list[Any]:
    data, begin, size = values
    index = tuple(
        slice(int(b), None if s == -1 else int(b) + int(s))
        for b, s in zip(begin, size, strict=True)
    )
    return [data[index]]


def _pack(op: Any, values: list[np.ndarray]) -> list[Any]:
    from tflite.PackOptions import PackOptions

    return [np.stack(values, axis=options(op, PackOptions).Axis())]


def _unpack(op: Any, values: list[np.ndarray]) -> list[Any]:
    from tflite.UnpackOptions import UnpackOptions

    return list(np.moveaxis(values[0], options(op, UnpackOptions).Axis(), 0))


def _concatenation(op: Any, values: list[np.ndarray]) -> list[Any]:
    from tflite.ConcatenationOptions import ConcatenationOptions

    return [np.concatenate(values, axis=options(op, ConcatenationOptions).Axis())]


def _gather(op: Any, values: list[np.ndarray]) -> list[Any] | None:
    from tflite.GatherOptions import GatherOptions

    option = options(op, GatherOptions)
    if option.BatchDims():
        return None
    return [np.take(values[0], values[1], axis=option.Axis())]


def _reduce_prod(op: Any, values: list[np.ndarray]) -> list[Any]:
    from tflite.ReducerOptions import ReducerOptions

    axis = tuple(int(a) for a in np.ravel(values[1]))
    return [np.prod(values[0], axis=axis, keepdims=bool(options(op, ReducerOptions).KeepDims()))]


def _squeeze(op: Any, values: list[np.ndarray]) -> list[Any]:
    from tflite.SqueezeOptions import SqueezeOptions

    axes = options(op, SqueezeOptions).SqueezeDimsAsNumpy()
    return [np.squeeze(values[0], axis=None if isinstance(axes, int) else tuple(axes))]


def _elementwise(function: Callable[..., Any]) -> Callable[[Any, list[np.ndarray]], list[Any]]:
    return lambda op, values: [function(*values)]


_FUNCTIONS: dict[str, Callable[[Any, list[np.ndarray]], Any]] = {
    "ADD": _elementwise(np.add),
    "SUB": _elementwise(np.subtract),
    "MUL": _elementwise(np.multiply),
    "FLOOR_DIV": _elementwise(np.floor_divide),
    "FLOOR_MOD": _elementwise(np.mod),
    "MAXIMUM": _elementwise(np.maximum),
    "MINIMUM": _elementwise(np.minimum),
    "CAST": _elementwise(lambda value: value),
    "EXPAND_DIMS": _elementwise(lambda value, axis: np.expand_dims(value, int(np.ravel(axis)[0]))),
    "RESHAPE": _elementwise(lambda value, *shape: np.reshape(value, tuple(shape[0]))),
    "STRIDED_SLICE": _strided_slice,
    "SLICE": _slice,
    "PACK": _pack,
    "UNPACK": _unpack,
    "CONCATENATION": _concatenation,
    "GATHER": _gather,
    "REDUCE_PROD": _reduce_prod,
    "SQUEEZE": _squeeze,
    "BROADCAST_ARGS": _elementwise(lambda a, b: np.broadcast_shapes(tuple(a), tuple(b))),
}
