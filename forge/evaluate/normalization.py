"""Normalise over a batch, a layer, a group or an instance: in float64 and rounded once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forge.evaluate.registry import Invocation, operator
from forge.evaluate.values import Value


def _along(vector: np.ndarray, axes: Sequence[int], rank: int) -> np.ndarray:
    """Shape parameters, one dimension an axis in the given order, to broadcast over a tensor."""
    ascending = sorted(range(len(axes)), key=lambda place: axes[place])
    shape = [1] * rank
    for place, axis in enumerate(axes):
        shape[axis] = vector.shape[place]
    return vector.astype(np.float64).transpose(ascending).reshape(shape)


def _standardised(data: np.ndarray, axes: Sequence[int], epsilon: float) -> np.ndarray:
    shifted = data - data.mean(axis=tuple(axes), keepdims=True)
    variance = np.mean(shifted * shifted, axis=tuple(axes), keepdims=True)
    return np.asarray(shifted / np.sqrt(variance + epsilon))


def _affine(call: Invocation, data: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Apply the second argument as a scale and the third as a shift, where the call asks for."""
    if call.attrs.scale:
        data = data * _along(call.array(1), axes, data.ndim)
    if call.attrs.center:
        data = data + _along(call.array(2), axes, data.ndim)
    return data.astype(call.array(0).dtype)


def _axes(call: Invocation, rank: int) -> list[int]:
    return [axis % rank for axis in call.ints("axes")]


@operator("nn.batch_norm")
def batch_norm(call: Invocation) -> Value:
    """Normalise each channel; in training by its own statistics, which move the given ones."""
    data, attrs = call.array(0), call.attrs
    axis = int(attrs.axis) % data.ndim
    wide, mean, variance = (call.array(index).astype(np.float64) for index in (0, 3, 4))
    if attrs.training:
        others = tuple(other for other in range(data.ndim) if other != axis)
        seen_mean, seen_variance = wide.mean(axis=others), wide.var(axis=others)
        momentum = float(attrs.momentum)
        moved = (
            ((1.0 - momentum) * mean + momentum * seen_mean).astype(call.array(3).dtype),
            ((1.0 - momentum) * variance + momentum * seen_variance).astype(call.array(4).dtype),
        )
        mean, variance = seen_mean, seen_variance
    else:
        moved = call.array(3), call.array(4)
    deviation = np.sqrt(variance + float(attrs.epsilon))
    shifted = wide - _along(mean, [axis], data.ndim)
    return _affine(call, shifted / _along(deviation, [axis], data.ndim), [axis]), *moved


@operator("nn.layer_norm")
def layer_norm(call: Invocation) -> Value:
    """Normalise over some dimensions, with a scale and a shift for each of their elements."""
    data = call.array(0).astype(np.float64)
    axes = _axes(call, data.ndim)
    return _affine(call, _standardised(data, axes, float(call.attrs.epsilon)), axes)


@operator("nn.instance_norm")
def instance_norm(call: Invocation) -> Value:
    """Normalise over some dimensions, with a scale and a shift for each channel."""
    data = call.array(0).astype(np.float64)
    channel = int(call.attrs.channel_axis) % data.ndim
    result = _standardised(data, _axes(call, data.ndim), float(call.attrs.epsilon))
    return _affine(call, result, [channel])


@operator("nn.group_norm")
def group_norm(call: Invocation) -> Value:
    """Normalise over groups of channels and some dimensions, scaled and shifted by channel."""
    data = call.array(0).astype(np.float64)
    channel, groups = int(call.attrs.channel_axis) % data.ndim, int(call.attrs.num_groups)
    before, after = data.shape[:channel], data.shape[channel + 1 :]
    grouped = data.reshape(*before, groups, data.shape[channel] // groups, *after)
    axes = [axis if axis < channel else axis + 1 for axis in _axes(call, data.ndim)]
    result = _standardised(grouped, [channel + 1, *axes], float(call.attrs.epsilon))
    return _affine(call, result.reshape(data.shape), [channel])


@operator("nn.rms_norm")
def rms_norm(call: Invocation) -> Value:
    """Divide by the root of the mean square over some dimensions, and scale their elements."""
    data = call.array(0).astype(np.float64)
    axes = _axes(call, data.ndim)
    square = np.mean(data * data, axis=tuple(axes), keepdims=True)
    result = data / np.sqrt(square + float(call.attrs.epsilon))
    scaled = np.asarray(result * _along(call.array(1), axes, data.ndim))
    return scaled.astype(call.array(0).dtype)
