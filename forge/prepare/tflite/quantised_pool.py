"""Average pooling of quantised tensors with TFLite's rounding.

TVM's frontend divides the integer sum by ``avg_pool2d`` on int32, which rounds down; TFLite
rounds to nearest, half away from zero. Measured with TVM 0.27.0.post1: one step too low in half
of all elements, which later layers amplify.

See https://github.com/apache/tvm/pull/20298.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from forge._tvm import constant
from forge.prepare.tflite.shape_values import options


def average_pool_2d(converter: Any, op: Any) -> Any:
    """Average in float32, where sums of int8 are exact, and round as TFLite does."""
    from tflite.Padding import Padding
    from tflite.Pool2DOptions import Pool2DOptions

    source = converter.get_input_tensors(op)[0]
    result = converter.get_output_tensors(op)[0]
    if not source.qnn_params or not converter.has_same_qnn_params(source, result):
        return NotImplemented
    option = options(op, Pool2DOptions)
    window = (option.FilterHeight(), option.FilterWidth())
    strides = (option.StrideH(), option.StrideW())
    padding = [0, 0, 0, 0]
    if option.Padding() == Padding.SAME:
        lengths = [int(dim) for dim in converter.get_tensor_shape(source)][1:3]
        for i, (length, size, stride) in enumerate(zip(lengths, window, strides, strict=True)):
            total = max(0, (-(-length // stride) - 1) * stride + size - length)
            padding[i], padding[i + 2] = total // 2, total - total // 2
    data = relax.op.astype(converter.get_tensor_expr(source), "float32")
    mean = relax.op.nn.avg_pool2d(
        data, pool_size=window, strides=strides, padding=padding, layout="NHWC"
    )
    half = constant(np.float32(0.5))
    rounded = relax.op.multiply(
        relax.op.sign(mean), relax.op.floor(relax.op.add(relax.op.abs(mean), half))
    )
    dtype = converter.get_tensor_type_str(result.tensor.Type())
    return converter.convert_qnn_fused_activation_function(
        expr=relax.op.astype(rounded, dtype),
        fused_activation_fn=option.FusedActivationFunction(),
        scale=float(result.qnn_params["scale"].value.numpy()),
        zero_point=int(result.qnn_params["zero_point"].value.numpy()),
        dtype=dtype,
    )


MENDS = {"AVERAGE_POOL_2D": average_pool_2d}
