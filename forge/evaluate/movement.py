"""Operators that only move, repeat or join elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating


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


@operator("reverse_sequence")
def reverse_sequence(call: Invocation) -> Value:
    """Reverse the first elements along a dimension, as many as each batch entry says."""
    array, lengths = call.array(0), call.array(1)
    along, batch = int(call.attrs.seq_axis) % array.ndim, int(call.attrs.batch_axis) % array.ndim
    size = array.shape[along]
    if lengths.size and (lengths.min() < 0 or lengths.max() > size):
        raise NotEvaluable("a sequence longer than the tensor")
    shape = [1] * array.ndim
    shape[batch] = -1
    count = lengths.astype(np.int64).reshape(shape)
    place = np.expand_dims(
        np.arange(size), [other for other in range(array.ndim) if other != along]
    )
    source = np.where(place < count, count - 1 - place, place)
    return np.take_along_axis(array, np.broadcast_to(source, array.shape), along)


@operator("collapse_sum_to", "collapse_sum_like")
def collapse_sum(call: Invocation) -> Value:
    """Undo a broadcast: sum over the dimensions that it added or enlarged."""
    array, target = call.array(0), call.args[1]
    shape = target.shape if isinstance(target, np.ndarray) else call.shape(1)
    added = array.ndim - len(shape)
    enlarged = [added + axis for axis, size in enumerate(shape) if size == 1]
    wide = array.astype(np.float64) if is_floating(array.dtype) else array
    total = wide.sum(axis=tuple(range(added)) + tuple(enlarged), keepdims=True, dtype=wide.dtype)
    return np.asarray(total).astype(array.dtype).reshape(shape)


@operator("nn.pixel_shuffle")
def pixel_shuffle(call: Invocation) -> Value:
    """Turn channels into pixels: N, C×r×r, H, W to N, C, H×r, W×r."""
    array, factor = call.array(0), int(call.attrs.upscale_factor)
    *leading, channels, height, width = array.shape
    blocks = array.reshape(-1, channels // factor**2, factor, factor, height, width)
    shuffled = blocks.transpose(0, 1, 4, 2, 5, 3)
    return shuffled.reshape(*leading, channels // factor**2, height * factor, width * factor)


@operator("meshgrid")
def meshgrid(call: Invocation) -> Value:
    """Spread vectors over the grid that they span."""
    xy = str(call.attrs.indexing) == "xy"
    return tuple(np.meshgrid(*call.arrays(0), indexing="xy" if xy else "ij"))


_PAD_MODES: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


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
    if mode not in _PAD_MODES:
        raise NotEvaluable(f"padding mode {mode}")
    limits = [size - 1 if mode == "reflect" else size for size in array.shape]
    if mode != "replicate" and any(
        max(pair) > limit for pair, limit in zip(pairs, limits, strict=True)
    ):
        raise NotEvaluable("a padding larger than the tensor")
    return np.pad(array, pairs, mode=_PAD_MODES[mode])
