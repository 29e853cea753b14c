"""Operators that only move, repeat or join elements."""

from __future__ import annotations

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


@operator("reshape")
def reshape(call: Invocation) -> Value:
    """Give the elements another shape; -1 stands for what is left, 0 for the same dimension."""
    array, shape = call.array(0), list(call.shape(1))
    return array.reshape(shape)


@operator("flatten", "nn.batch_flatten")
def flatten(call: Invocation) -> Value:
    """Make one dimension of all (``nn.batch_flatten``: of all but the first)."""
    array = call.array(0)
    rank = int(call.type.ndim)
    return array.reshape(-1) if rank == 1 else array.reshape(array.shape[0], -1)


@operator("permute_dims")
def permute_dims(call: Invocation) -> Value:
    """Reorder the dimensions, or reverse them."""
    axes = call.axes("axes")
    return call.array(0).transpose(axes)


@operator("expand_dims")
def expand_dims(call: Invocation) -> Value:
    """Insert dimensions of one."""
    return np.expand_dims(call.array(0), call.axes() or ())


@operator("squeeze")
def squeeze(call: Invocation) -> Value:
    """Take away dimensions of one."""
    return np.squeeze(call.array(0), call.axes())


@operator("broadcast_to")
def broadcast_to(call: Invocation) -> Value:
    """Repeat along dimensions of one."""
    return np.broadcast_to(call.array(0), call.shape(1))


@operator("concat")
def concat(call: Invocation) -> Value:
    """Join tensors along a dimension."""
    arrays = call.arrays(0)
    axis = call.axis(arrays[0].ndim)
    return np.concatenate(arrays, axis)


@operator("stack")
def stack(call: Invocation) -> Value:
    """Join tensors along a new dimension."""
    arrays = call.arrays(0)
    return np.stack(arrays, call.axis(arrays[0].ndim + 1) or 0)


@operator("split")
def split(call: Invocation) -> Value:
    """Cut a tensor into sections, at indices or of equal size (the last may be smaller)."""
    array = call.array(0)
    axis = call.axis(array.ndim) or 0
    sections = call.attrs.indices_or_sections
    if hasattr(sections, "value"):
        length = array.shape[axis]
        size = -(-length // int(sections))
        cuts = [min(size * index, length) for index in range(1, int(sections))]
    else:
        cuts = [int(index) for index in sections]
    return tuple(np.split(array, cuts, axis))


@operator("repeat")
def repeat(call: Invocation) -> Value:
    """Repeat each element along a dimension, or of all in order."""
    array = call.array(0)
    return np.repeat(array, int(call.attrs.repeats), call.axis(array.ndim))


@operator("tile")
def tile(call: Invocation) -> Value:
    """Repeat the whole tensor along its dimensions."""
    return np.tile(call.array(0), tuple(int(count) for count in call.attrs.repeats))


@operator("flip")
def flip(call: Invocation) -> Value:
    """Reverse the order along a dimension."""
    array = call.array(0)
    return np.flip(array, call.axis(array.ndim))


@operator("meshgrid")
def meshgrid(call: Invocation) -> Value:
    """Spread vectors over the grid that they span."""
    xy = str(call.attrs.indexing) == "xy"
    return tuple(np.meshgrid(*call.arrays(0), indexing="xy" if xy else "ij"))


@operator("nn.pad")
def pad(call: Invocation) -> Value:
    """Enlarge a tensor on its sides."""
    array = call.array(0)
    widths = [int(width) for width in call.attrs.pad_width]
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    mode = str(call.attrs.pad_mode)
    if min(widths, default=0) < 0:
        raise NotEvaluable("a negative padding")
    if mode == "constant":
        return np.pad(array, pairs, constant_values=array.dtype.type(call.attrs.pad_value))
    if mode == "reflect":
        return np.pad(array, pairs, mode="reflect")
    if mode == "replicate":
        return np.pad(array, pairs, mode="edge")
    if mode == "circular":
        return np.pad(array, pairs, mode="wrap")
    raise NotEvaluable(f"padding mode {mode}")
