"""Operators that pick elements by position."""

from __future__ import annotations

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating


def in_range(indices: np.ndarray, length: int) -> np.ndarray:
    """Return indices that are all within ``[0, length)``.

    Raises:
        NotEvaluable: One is not; compiled code would read beyond the tensor.
    """
    if indices.size and (indices.min() < 0 or indices.max() >= length):
        raise NotEvaluable("an index out of range")
    return indices


def wrapped(indices: np.ndarray, length: int) -> np.ndarray:
    """Return indices with negative ones counted from the end.

    Raises:
        NotEvaluable: One is not within ``[-length, length)``.
    """
    return in_range(np.where(indices < 0, indices + length, indices), length)


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
    elif mode == "nan":
        return _take_or_nan(array, indices, axis)
    return np.take(array, in_range(indices, length), axis)


def _take_or_nan(array: np.ndarray, indices: np.ndarray, axis: int) -> np.ndarray:
    if not is_floating(array.dtype):
        raise NotEvaluable(f"NaN in {array.dtype}")
    length = array.shape[axis]
    inside = (indices >= 0) & (indices < length)
    taken = np.take(array, np.where(inside, indices, 0), axis)
    shape = (1,) * axis + inside.shape + (1,) * (array.ndim - axis - 1)
    return np.where(inside.reshape(shape), taken, array.dtype.type(np.nan))


@operator("index_tensor")
def index_tensor(call: Invocation) -> Value:
    """Pick by one tensor of indices a leading dimension; negative ones count from the end.

    Compiled code reads before the tensor at a negative index, though the operator is said to
    be what numpy does (the kind of apache/tvm 20217).
    """
    array = call.array(0)
    places = tuple(map(wrapped, call.arrays(1), array.shape))
    return np.asarray(array[places])


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
