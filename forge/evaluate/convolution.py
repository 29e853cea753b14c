"""Convolutions and transposed convolutions, of any rank, layout and number of groups.

Products are summed in float64 and rounded once (``forge.evaluate.linear.accumulator``).
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from forge.evaluate.layouts import padded, reordered, sides, spatial_letters, windows
from forge.evaluate.linear import accumulator, rounded
from forge.evaluate.registry import Invocation, operator
from forge.evaluate.values import Value

# elements of the matrix that stands for a part of an image: 64 MiB in float64
_COLUMNS = 1 << 23


def _operands(call: Invocation, kernel_letters: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Bring data to NC+spatial and the kernel to two letters+spatial, as wide as sums need."""
    layout = str(call.attrs.data_layout)
    spatial = spatial_letters(layout)
    data = reordered(call.array(0), layout, f"NC{spatial}")
    kernel = reordered(call.array(1), str(call.attrs.kernel_layout), kernel_letters + spatial)
    wide = accumulator(call.dtype, data.dtype, kernel.dtype)
    return data.astype(wide), kernel.astype(wide), spatial


def _result(call: Invocation, result: np.ndarray, spatial: str) -> Value:
    layout = str(call.attrs.out_layout) or str(call.attrs.data_layout)
    return rounded(reordered(result, f"NC{spatial}", layout), call.dtype)


@operator("nn.conv1d", "nn.conv2d", "nn.conv3d")
def convolution(call: Invocation) -> Value:
    """Convolve with zero padding: one matrix product an image and group."""
    data, kernel, spatial = _operands(call, "OI")
    data = padded(data, sides(call.ints("padding")))
    groups = int(call.attrs.groups)
    seen = windows(data, kernel.shape[2:], call.ints("strides"), call.ints("dilation"))
    rank, outputs = len(spatial), kernel.shape[0]
    sizes = seen.shape[2 : 2 + rank]
    weights = kernel.reshape(groups, outputs // groups, -1)
    result = np.empty((data.shape[0], outputs, *sizes), data.dtype)
    # channels, then the elements of a window, then the positions
    order = (0, *range(1 + rank, 1 + 2 * rank), *range(1, 1 + rank))
    # a 3x3 kernel makes nine copies of what it sees: of so many rows of one image at a time
    rows = max(_COLUMNS // max(prod(seen.shape[1:]) // max(sizes[0], 1), 1), 1)
    for image, columns in zip(result, seen, strict=True):
        for first in range(0, sizes[0], rows):
            part = columns[:, first : first + rows]
            shape = (outputs, *part.shape[1 : 1 + rank])
            matrix = part.transpose(order).reshape(groups, -1, prod(shape[1:]))
            image[:, first : first + rows] = np.matmul(weights, matrix).reshape(shape)
    return _result(call, result, spatial)


@operator("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def transposed_convolution(call: Invocation) -> Value:
    """Spread each input over the kernel's positions."""
    data, kernel, spatial = _operands(call, "IO")
    rank, groups = len(spatial), int(call.attrs.groups)
    strides, dilation = call.ints("strides"), call.ints("dilation")
    pads, extra = sides(call.ints("padding")), call.ints("output_padding")
    batch, per_group, taps = data.shape[0], kernel.shape[1], kernel.shape[2:]
    sizes = data.shape[2:]
    full = np.zeros(
        (
            batch,
            groups * per_group,
            *(
                (sizes[axis] - 1) * strides[axis]
                + dilation[axis] * (taps[axis] - 1)
                + 1
                + extra[axis]
                for axis in range(rank)
            ),
        ),
        data.dtype,
    )
    grouped = data.reshape(batch, groups, data.shape[1] // groups, -1)
    weights = kernel.reshape(groups, kernel.shape[0] // groups, per_group, -1)
    for position, tap in enumerate(product(*map(range, taps))):
        window = tuple(
            slice(
                tap[axis] * dilation[axis],
                tap[axis] * dilation[axis] + (sizes[axis] - 1) * strides[axis] + 1,
                strides[axis],
            )
            for axis in range(rank)
        )
        part = np.matmul(weights[..., position].swapaxes(1, 2), grouped)
        full[(slice(None), slice(None), *window)] += part.reshape(batch, -1, *sizes)
    crop = tuple(
        slice(before, size - after)
        for size, (before, after) in zip(full.shape[2:], pads, strict=True)
    )
    return _result(call, full[(slice(None), slice(None), *crop)], spatial)
