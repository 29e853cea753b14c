"""TFLite operators that compute, where TVM's converter is wrong or raises.

Measured with TVM 0.27.0.post1 against TensorFlow's interpreter: ARG_MAX, ARG_MIN and integer
MEAN come back as int64 where the file says int32, GELU ignores ``approximate``, SOFTMAX ignores
``beta``, BUCKETIZE puts a value on a boundary below it; SQUARE and SQUARED_DIFFERENCE of
integers cannot be compiled; BATCH_MATMUL with broadcast batches, reverse CUMSUM, MATRIX_DIAG,
MATRIX_SET_DIAG and SPARSE_TO_DENSE raise.

See https://github.com/apache/tvm/pull/19408.
See https://github.com/apache/tvm/pull/19434.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tvm import relax

from forge._tvm import constant
from forge.errors import UnsupportedOperator
from forge.prepare.tflite.shape_values import options


def _output_dtype(converter: Any, op: Any) -> str:
    return str(converter._get_relax_tensor_dtype(converter.get_output_tensors(op)[0]))


def _is_quantised(converter: Any, op: Any) -> bool:
    return any(tensor.qnn_params for tensor in converter.get_input_tensors(op))


def arg_max(converter: Any, op: Any) -> Any:
    """Cast the index to the dtype that the file declares."""
    out = converter.bb.normalize(converter.convert_map[converter.get_op_code_str(op)](op=op))
    return relax.op.astype(out, _output_dtype(converter, op))


def mean(converter: Any, op: Any) -> Any:
    """Average integers as TFLite does: sum in 64 bits, divide, truncate towards zero."""
    from tflite.ReducerOptions import ReducerOptions

    dtype = _output_dtype(converter, op)
    if _is_quantised(converter, op) or not dtype.startswith(("int", "uint")):
        return NotImplemented
    tensors = converter.get_input_tensors(op)
    shape = [int(dim) for dim in converter.get_tensor_shape(tensors[0])]
    axes = [int(a) % len(shape) for a in np.ravel(converter.get_tensor_value(tensors[1]))]
    count = int(np.prod([shape[a] for a in axes], dtype="int64"))
    total = relax.op.sum(
        relax.op.astype(converter.get_tensor_expr(tensors[0]), "int64"),
        axes,
        bool(options(op, ReducerOptions).KeepDims()),
    )
    size = constant(np.int64(count))
    magnitude = relax.op.floor_divide(relax.op.abs(total), size)
    return relax.op.astype(relax.op.multiply(relax.op.sign(total), magnitude), dtype)


def gelu(converter: Any, op: Any) -> Any:
    """Use the tanh form where the file asks for it."""
    from tflite.GeluOptions import GeluOptions

    if op.BuiltinOptions() is None or not options(op, GeluOptions).Approximate():
        return NotImplemented
    if _is_quantised(converter, op):
        return NotImplemented
    x = converter.get_tensor_expr(converter.get_input_tensors(op)[0])
    dtype = _output_dtype(converter, op)

    def number(value: float) -> Any:
        return constant(np.array(value, dtype))

    cubic = relax.op.multiply(number(0.044715), relax.op.multiply(x, relax.op.multiply(x, x)))
    inner = relax.op.multiply(number(math.sqrt(2 / math.pi)), relax.op.add(x, cubic))
    half = relax.op.multiply(number(0.5), x)
    return relax.op.multiply(half, relax.op.add(number(1), relax.op.tanh(inner)))


def softmax(converter: Any, op: Any) -> Any:
    """Scale by beta before the softmax where beta is not 1."""
    from tflite.SoftmaxOptions import SoftmaxOptions

    beta = float(options(op, SoftmaxOptions).Beta())
    if beta == 1.0:
        return NotImplemented
    source = converter.get_input_tensors(op)[0]
    result = converter.get_output_tensors(op)[0]
    data = converter.get_tensor_expr(source)
    if source.qnn_params:
        data = converter.dequantize(data, source)
    scaled = relax.op.multiply(data, constant(np.array(beta, "float32")))
    out = relax.op.nn.softmax(scaled, axis=-1)
    return converter.quantize(out, result) if result.qnn_params else out


def batch_matmul(converter: Any, op: Any) -> Any:
    """Multiply with Relax's own broadcasting of the batch axes."""
    from tflite.BatchMatMulOptions import BatchMatMulOptions

    if _is_quantised(converter, op):
        return NotImplemented
    option = options(op, BatchMatMulOptions)
    tensors = converter.get_input_tensors(op)
    factors = []
    for tensor, transposed in zip(tensors, (option.AdjX(), option.AdjY()), strict=True):
        factor = converter.get_tensor_expr(tensor)
        if transposed:
            axes = list(range(len(converter.get_tensor_shape(tensor))))
            factor = relax.op.permute_dims(factor, [*axes[:-2], axes[-1], axes[-2]])
        factors.append(factor)
    return relax.op.matmul(*factors)


def cumsum(converter: Any, op: Any) -> Any:
    """Sum from the end by flipping before and after."""
    from tflite.CumsumOptions import CumsumOptions

    option = options(op, CumsumOptions)
    if not option.Reverse():
        return NotImplemented
    tensors = converter.get_input_tensors(op)
    axis = int(np.ravel(converter.get_tensor_value(tensors[1]))[0])
    flipped = relax.op.flip(converter.get_tensor_expr(tensors[0]), axis)
    dtype = _output_dtype(converter, op)
    return relax.op.flip(relax.op.cumsum(flipped, axis, dtype, bool(option.Exclusive())), axis)


def matrix_diag(converter: Any, op: Any) -> Any:
    """Put the last axis on the diagonal of zeros."""
    tensor = converter.get_input_tensors(op)[0]
    data = converter.get_tensor_expr(tensor)
    size = int(converter.get_tensor_shape(tensor)[-1])
    zero = constant(np.zeros((), converter.get_tensor_type_as_numpy(tensor)))
    return relax.op.where(constant(np.eye(size, dtype=bool)), relax.op.expand_dims(data, -1), zero)


def matrix_set_diag(converter: Any, op: Any) -> Any:
    """Replace the main diagonal of each matrix, which need not be square."""
    tensors = converter.get_input_tensors(op)
    data, diagonal = (converter.get_tensor_expr(tensor) for tensor in tensors)
    rows, columns = (int(dim) for dim in converter.get_tensor_shape(tensors[0])[-2:])
    spread = relax.op.expand_dims(diagonal, -1)
    if rows > columns:
        rank = len(converter.get_tensor_shape(tensors[0]))
        widths = [0] * (2 * rank - 4) + [0, rows - columns, 0, 0]
        spread = relax.op.nn.pad(spread, widths, pad_value=0)
    return relax.op.where(constant(np.eye(rows, columns, dtype=bool)), spread, data)


def sparse_to_dense(converter: Any, op: Any) -> Any:
    """Scatter values into a tensor filled with the default, at indices that the file holds."""
    tensors = converter.get_input_tensors(op)
    if not all(converter.has_constant(int(tensors[i].tensor_idx)) for i in (0, 1, 3)):
        return NotImplemented
    indices, shape, default = (converter.get_tensor_value(tensors[i]) for i in (0, 1, 3))
    indices = np.asarray(indices, "int64").reshape(-1, len(shape))
    values = converter.get_tensor_expr(tensors[2])
    if len(converter.get_tensor_shape(tensors[2])) == 0:
        values = relax.op.broadcast_to(values, (len(indices),))
    dense = np.full([int(dim) for dim in shape], default, dtype=default.dtype)
    return relax.op.scatter_nd(constant(dense), constant(indices), values, "update")


def square(converter: Any, op: Any) -> Any:
    """Multiply: Relax's power takes floats only."""
    if _is_quantised(converter, op):
        return NotImplemented
    data = converter.get_tensor_expr(converter.get_input_tensors(op)[0])
    return relax.op.multiply(data, data)


def squared_difference(converter: Any, op: Any) -> Any:
    """Multiply the difference with itself: Relax's power takes floats only."""
    if _is_quantised(converter, op):
        return NotImplemented
    left, right = (converter.get_tensor_expr(t) for t in converter.get_input_tensors(op))
    difference = converter.bb.normalize(relax.op.subtract(left, right))
    return relax.op.multiply(difference, difference)


def power(converter: Any, op: Any) -> Any:
    """Refuse integers, which import and then fail in code generation."""
    dtype = _output_dtype(converter, op)
    if dtype.startswith(("int", "uint")) and not _is_quantised(converter, op):
        raise UnsupportedOperator(
            f"POW on {dtype} cannot be compiled: TVM's power takes floats only.",
            operators=("POW",),
            hint="cast to float, or multiply",
        )
    return NotImplemented


def bucketize(converter: Any, op: Any) -> Any:
    """Put a value that equals a boundary above it."""
    from tflite.BucketizeOptions import BucketizeOptions

    boundaries = np.asarray(options(op, BucketizeOptions).BoundariesAsNumpy(), "float32")
    data = converter.get_tensor_expr(converter.get_input_tensors(op)[0])
    data = relax.op.expand_dims(relax.op.astype(data, "float32"), -1)
    above = relax.op.greater_equal(data, constant(boundaries))
    return relax.op.sum(relax.op.astype(above, "int32"), -1)


MENDS = {
    "ARG_MAX": arg_max,
    "ARG_MIN": arg_max,
    "BATCH_MATMUL": batch_matmul,
    "BUCKETIZE": bucketize,
    "CUMSUM": cumsum,
    "GELU": gelu,
    "MATRIX_DIAG": matrix_diag,
    "MATRIX_SET_DIAG": matrix_set_diag,
    "MEAN": mean,
    "POW": power,
    "SOFTMAX": softmax,
    "SPARSE_TO_DENSE": sparse_to_dense,
    "SQUARE": square,
    "SQUARED_DIFFERENCE": squared_difference,
}
