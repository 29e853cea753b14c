"""Operators that pick elements by position."""

from __future__ import annotations

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


def in_range(indices: np.ndarray, length: int) -> np.ndarray:
    """Return indices that are all within ``[0, length)``.

    Raises:
        NotEvaluable: One is not; compiled code would read beyond the tensor.
    """
    if indices.size and (indices.min() < 0 or indices.max() >= length):
        raise NotEvaluable("an index out of range")
    return indices


@operator("take")
def take(call: Invocation) -> Value:
    """Pick along one dimension, or of all elements in order."""
    array = call.array(0)
    axis = call.axis(array.ndim)
    if isinstance(call.args[1], np.ndarray):
        indices = call.array(1)
    else:
        indices = np.asarray(call.scalar(1), np.int64)
    if axis is None:
        array, axis = array.reshape(-1), 0
    length, mode = array.shape[axis], str(call.attrs.mode)
    if mode == "clip":
        indices = np.clip(indices, 0, length - 1)
    elif mode == "wrap":
        indices = np.mod(indices, length)
    return np.take(array, in_range(indices, length), axis)


@operator("gather_elements")
def gather_elements(call: Invocation) -> Value:
    """Pick one element along a dimension for each position of the indices."""
    array, indices = call.array(0), call.array(1)
    axis = call.axis(array.ndim) or 0
    rows = np.indices(indices.shape, sparse=True)
    positions: list[np.ndarray] = list(rows)
    positions[axis] = in_range(indices, array.shape[axis])
    return np.asarray(array[tuple(positions)])


@operator("gather_nd")
def gather_nd(call: Invocation) -> Value:
    """Pick slices whose leading positions are the last dimension of the indices."""
    array, indices = call.array(0), call.array(1)
    batch = int(call.attrs.batch_dims)
    depth = indices.shape[-1]
    positions = [in_range(indices[..., axis], array.shape[batch + axis]) for axis in range(depth)]
    leading = np.indices(indices.shape[:-1], sparse=True)[:batch]
    return np.asarray(array[(*leading, *positions)])


@operator("strided_slice")
def strided_slice(call: Invocation) -> Value:
    """Cut a range out of some dimensions; ends beyond the tensor are clipped as Python does."""
    array = call.array(0)
    axes, begin, end = (call.shape(index) for index in (1, 2, 3))
    strides = call.shape(4) if len(call.args) > 4 else (1,) * len(axes)
    return _slice(array, axes, begin, end, strides)


@operator("dynamic_strided_slice")
def dynamic_strided_slice(call: Invocation) -> Value:
    """Cut a range out of every dimension, its bounds given as tensors."""
    array = call.array(0)
    begin, end, strides = (tuple(map(int, call.array(index))) for index in (1, 2, 3))
    return _slice(array, tuple(range(array.ndim)), begin, end, strides)


def _slice(
    array: np.ndarray,
    axes: tuple[int, ...],
    begin: tuple[int, ...],
    end: tuple[int, ...],
    strides: tuple[int, ...],
) -> np.ndarray:
    cuts = [slice(None)] * array.ndim
    for axis, first, last, step in zip(axes, begin, end, strides, strict=True):
        length = array.shape[axis]
        if step == 0:
            raise NotEvaluable("a slice with a stride of zero")
        before_the_first = step < 0 and last + length < 0
        cuts[axis] = slice(first, None if before_the_first else last, step)
    return array[tuple(cuts)]
