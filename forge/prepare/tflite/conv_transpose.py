"""Transposed convolutions in the one layout that TVM can compile.

TVM's frontend imports TRANSPOSE_CONV as NHWC and CONV_3D_TRANSPOSE as NDHWC; Relax legalises
only NCHW/IOHW and NCDHW/IODHW, so compilation fails. It also ignores a fused activation and an
output that is larger than the kernel's reach. Measured with TVM 0.27.0.post1.

See https://github.com/apache/tvm/issues/19694.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from forge.prepare.tflite.shape_values import options


def _paddings(size: int, length: int, kernel: int, stride: int, same: bool) -> tuple[int, int, int]:
    """Give padding before, after, and output padding that make ``size`` out of ``length``."""
    reach = (length - 1) * stride + kernel
    total = max(0, reach - size) if same else 0
    return total // 2, total - total // 2, max(0, size - reach + total)


def _transposed(
    converter: Any, op: Any, spatial: int, option: Any, kernel_axes: list[int], dilated: bool
) -> Any:
    """Lower to channels-first; ``kernel_axes`` brings the file's kernel to (I, O, spatial…)."""
    from tflite.Padding import Padding

    tensors = converter.get_input_tensors(op)
    sizes = [int(dim) for dim in converter.get_tensor_value(tensors[0])][1:-1]
    kernel_tensor, data_tensor = tensors[1], tensors[2]
    result = converter.get_output_tensors(op)[0]
    if dilated:
        return NotImplemented
    data, kernel = converter.get_tensor_expr(data_tensor), converter.get_tensor_expr(kernel_tensor)
    if data_tensor.qnn_params:
        data = converter.dequantize(data, data_tensor)
        kernel = converter.dequantize(kernel, kernel_tensor)
    kernel = relax.op.permute_dims(kernel, kernel_axes)
    kernel_shape = [int(dim) for dim in converter.get_tensor_shape(kernel_tensor)]
    kernel_sizes = [kernel_shape[axis] for axis in kernel_axes[2:]]
    lengths = [int(dim) for dim in converter.get_tensor_shape(data_tensor)][1:-1]
    strides = [option.StrideH(), option.StrideW()]
    if spatial == 3:
        strides.insert(0, option.StrideD())
    same = option.Padding() == Padding.SAME
    pads = [
        _paddings(*numbers, same)
        for numbers in zip(sizes, lengths, kernel_sizes, strides, strict=True)
    ]
    last = spatial + 1
    data = relax.op.permute_dims(data, [0, last, *range(1, last)])
    function = relax.op.nn.conv2d_transpose if spatial == 2 else relax.op.nn.conv3d_transpose
    out = function(
        data,
        kernel,
        strides=strides,
        padding=[pad[0] for pad in pads] + [pad[1] for pad in pads],
        output_padding=[pad[2] for pad in pads],
    )
    out = relax.op.permute_dims(out, [0, *range(2, spatial + 2), 1])
    if len(tensors) > 3 and tensors[3].tensor_idx >= 0:
        out = relax.op.add(out, _bias(converter, tensors[3], data_tensor, kernel_tensor))
    out = converter.convert_fused_activation_function(out, option.FusedActivationFunction())
    return converter.quantize(out, result) if result.qnn_params else out


def _bias(converter: Any, bias: Any, data: Any, kernel: Any) -> Any:
    expr = converter.get_tensor_expr(bias)
    if bias.qnn_params:
        return converter.dequantize(expr, bias)
    if not data.qnn_params:
        return expr
    scale = relax.op.multiply(data.qnn_params["scale"], kernel.qnn_params["scale"])
    return relax.op.multiply(relax.op.astype(expr, "float32"), scale)


def transpose_conv(converter: Any, op: Any) -> Any:
    """Lower TRANSPOSE_CONV; its kernel is O, H, W, I."""
    from tflite.TransposeConvOptions import TransposeConvOptions

    option = options(op, TransposeConvOptions)
    return _transposed(converter, op, 2, option, [3, 0, 1, 2], dilated=False)


def conv_3d_transpose(converter: Any, op: Any) -> Any:
    """Lower CONV_3D_TRANSPOSE; its kernel is D, H, W, O, I."""
    from tflite.Conv3DOptions import Conv3DOptions

    option = options(op, Conv3DOptions)
    factors = (option.DilationDFactor(), option.DilationHFactor(), option.DilationWFactor())
    dilated = bool(np.any(np.array(factors) != 1))
    return _transposed(converter, op, 3, option, [4, 3, 0, 1, 2], dilated)


MENDS = {"TRANSPOSE_CONV": transpose_conv, "CONV_3D_TRANSPOSE": conv_3d_transpose}
