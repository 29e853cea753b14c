"""Operators that order elements. Equal ones keep their order, ascending and descending.

NaN has no place in an order: operators differ about it, so a tensor that holds one is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating


def ordered(array: np.ndarray) -> np.ndarray:
    """Return a tensor whose elements can be ordered.

    Raises:
        NotEvaluable: One is NaN.
    """
    if is_floating(array.dtype) and np.any(np.isnan(array)):
        raise NotEvaluable("an order among NaN")
    return array


def order(array: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """Give the positions along a dimension that sort it."""
    ordered(array)
    if not descending:
        return np.argsort(array, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
    return np.asarray(array.shape[axis] - 1 - np.flip(backwards, axis))


@operator("sort")
def sort(call: Invocation) -> Value:
    """Sort along a dimension."""
    array = call.array(0)
    axis = int(call.attrs.axis)
    return np.take_along_axis(array, order(array, axis, bool(call.attrs.descending)), axis)


@operator("argsort")
def argsort(call: Invocation) -> Value:
    """Give the positions that sort along a dimension."""
    found = order(call.array(0), int(call.attrs.axis), bool(call.attrs.descending))
    return found.astype(call.dtype)


@operator("topk")
def topk(call: Invocation) -> Value:
    """Give the largest or smallest elements in order, their positions, or both."""
    array, attrs = call.array(0), call.attrs
    axis, wanted = int(attrs.axis), str(attrs.ret_type)
    count = int(attrs.k) if int(attrs.k) > 0 else array.shape[axis]
    if count > array.shape[axis]:
        raise NotEvaluable(f"the first {count} of {array.shape[axis]}")
    found = order(array, axis, bool(attrs.largest)).take(range(count), axis)
    values = np.take_along_axis(array, found, axis)
    indices = found.astype(str(attrs.dtype))
    return {"values": values, "indices": indices}.get(wanted, (values, indices))


@operator("median")
def median(call: Invocation) -> Value:
    """Give the lower of the middle elements and its position; of all elements, the value alone."""
    array, axes = call.array(0), call.axes()
    keep = bool(call.attrs.keepdims)
    if not axes:
        flat = np.sort(ordered(array), axis=None, kind="stable")
        middle = flat[(flat.size - 1) // 2]
        return np.full((1,) * array.ndim if keep else (), middle, array.dtype)
    if len(axes) > 1:
        raise NotEvaluable("a median over several dimensions")
    axis = axes[0] % array.ndim
    middle = (array.shape[axis] - 1) // 2
    found = order(array, axis, False).take([middle], axis)
    value = np.take_along_axis(array, found, axis)
    if not keep:
        value, found = value.squeeze(axis), found.squeeze(axis)
    return value, found.astype(np.int64)


@operator("bucketize")
def bucketize(call: Invocation) -> Value:
    """Say between which of ascending boundaries each element lies."""
    array, boundaries = ordered(call.array(0)), ordered(call.array(1))
    if np.any(boundaries[1:] < boundaries[:-1]):
        raise NotEvaluable("boundaries that are not ascending")
    side: Any = "right" if call.attrs.right else "left"
    return np.searchsorted(boundaries, array, side).astype(call.dtype)


@operator("unique")
def unique(call: Invocation) -> Value:
    """List the different elements, or slices of a dimension, and where they are."""
    array = ordered(call.array(0))
    ascending, with_index, with_inverse, with_counts = (
        bool(call.scalar(index)) for index in range(1, 5)
    )
    axis = int(call.scalar(5)) if len(call.args) > 5 else None
    values, index, inverse, counts = np.unique(
        array, return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    # numpy 2 gives the inverse in the shape of the tensor, the operator has it flat
    inverse = inverse.reshape(-1)
    if not ascending:
        first = np.argsort(index, kind="stable")
        values, index, counts = values.take(first, axis or 0), index[first], counts[first]
        inverse = np.argsort(first, kind="stable")[inverse]
    extra = [(with_index, index), (with_inverse, inverse), (with_counts, counts)]
    results = (values, *(found.astype(np.int64) for wanted, found in extra if wanted))
    return results if len(results) > 1 else values


@operator("nonzero")
def nonzero(call: Invocation) -> Value:
    """List the positions of elements that are not zero, one row a dimension."""
    return np.stack(np.nonzero(np.atleast_1d(call.array(0)))).astype(np.int64)
