"""Convolutions and transposed convolutions, of any rank, layout and number of groups."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


def _to_order(array: np.ndarray, layout: str, order: str) -> np.ndarray:
    if sorted(layout) != sorted(order):
        raise NotEvaluable(f"layout {layout}")
    return array.transpose([layout.index(letter) for letter in order])


def _spatial(layout: str) -> str:
    return "".join(letter for letter in "DHW" if letter in layout)


def _ints(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _operands(call: Invocation, kernel_letters: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Bring data to NC+spatial and the kernel to two letters+spatial, in float64."""
    layout = str(call.attrs.data_layout)
    spatial = _spatial(layout)
    data = _to_order(call.array(0), layout, f"NC{spatial}")
    kernel = _to_order(call.array(1), str(call.attrs.kernel_layout), kernel_letters + spatial)
    return data.astype(np.float64), kernel.astype(np.float64), spatial


def _result(call: Invocation, result: np.ndarray, spatial: str) -> Value:
    layout = str(call.attrs.out_layout) or str(call.attrs.data_layout)
    return _to_order(result, f"NC{spatial}", layout).astype(call.dtype)


@operator("nn.conv1d", "nn.conv2d", "nn.conv3d")
def convolution(call: Invocation) -> Value:
    """Convolve with zero padding; summed in float64 and rounded once."""
    data, kernel, spatial = _operands(call, "OI")
    attrs, rank = call.attrs, len(spatial)
    strides, dilation, padding = map(_ints, (attrs.strides, attrs.dilation, attrs.padding))
    groups = int(attrs.groups)
    pads = list(zip(padding[:rank], padding[rank:], strict=True))
    data = np.pad(data, [(0, 0), (0, 0), *pads])
    taps = kernel.shape[2:]
    sizes = [
        (data.shape[2 + axis] - dilation[axis] * (taps[axis] - 1) - 1) // strides[axis] + 1
        for axis in range(rank)
    ]
    batch, outputs = data.shape[0], kernel.shape[0]
    grouped = data.reshape(batch, groups, -1, *data.shape[2:])
    weights = kernel.reshape(groups, outputs // groups, kernel.shape[1], -1)
    result = np.zeros((batch, groups, outputs // groups, *sizes))
    for position, tap in enumerate(product(*map(range, taps))):
        window = tuple(
            slice(tap[axis] * dilation[axis], None, strides[axis]) for axis in range(rank)
        )
        seen = grouped[(slice(None),) * 3 + window]
        seen = seen[(slice(None),) * 3 + tuple(slice(size) for size in sizes)]
        result += np.einsum("ngi...,goi->ngo...", seen, weights[..., position], optimize=True)
    return _result(call, result.reshape(batch, outputs, *sizes), spatial)


@operator("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def transposed_convolution(call: Invocation) -> Value:
    """Spread each input over the kernel's positions; summed in float64 and rounded once."""
    data, kernel, spatial = _operands(call, "IO")
    attrs, rank = call.attrs, len(spatial)
    strides, dilation, padding = map(_ints, (attrs.strides, attrs.dilation, attrs.padding))
    extra = _ints(attrs.output_padding)
    groups = int(attrs.groups)
    taps = kernel.shape[2:]
    spread = [
        (data.shape[2 + axis] - 1) * strides[axis] + dilation[axis] * (taps[axis] - 1) + 1
        for axis in range(rank)
    ]
    batch, per_group = data.shape[0], kernel.shape[1]
    grouped = data.reshape(batch, groups, -1, *data.shape[2:])
    weights = kernel.reshape(groups, kernel.shape[0] // groups, per_group, -1)
    full = np.zeros(
        (batch, groups, per_group, *(size + more for size, more in zip(spread, extra, strict=True)))
    )
    for position, tap in enumerate(product(*map(range, taps))):
        window = tuple(
            slice(
                tap[axis] * dilation[axis],
                tap[axis] * dilation[axis] + (data.shape[2 + axis] - 1) * strides[axis] + 1,
                strides[axis],
            )
            for axis in range(rank)
        )
        full[(slice(None),) * 3 + window] += np.einsum(
            "ngi...,gio->ngo...", grouped, weights[..., position], optimize=True
        )
    crop = tuple(
        slice(padding[axis], full.shape[3 + axis] - padding[rank + axis]) for axis in range(rank)
    )
    result = full[(slice(None),) * 3 + crop]
    return _result(call, result.reshape(batch, groups * per_group, *result.shape[3:]), spatial)
