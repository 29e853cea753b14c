"""Operators that write into a copy of a tensor at given positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from forge.evaluate.indexing import in_range, wrapped
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating

# what an update does where several meet at one position
_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def _accumulate(
    data: np.ndarray, positions: tuple[Any, ...], updates: np.ndarray, reduction: str
) -> np.ndarray:
    """Combine updates with what is there, in order; floats in float64 and rounded once."""
    wide = np.dtype(np.float64) if is_floating(data.dtype) else data.dtype
    result = data.astype(wide)
    updates = np.broadcast_to(updates, result[positions].shape).astype(wide)
    if reduction == "mean":
        if is_repeated(positions, data.shape):
            raise NotEvaluable("a mean at a position that several updates meet")
        result[positions] = (result[positions] + updates) / 2
    elif reduction in _UFUNCS:
        _UFUNCS[reduction].at(result, positions, updates)
    else:
        raise NotEvaluable(f"reduction {reduction}")
    return result.astype(data.dtype)


def is_repeated(positions: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether any position is written twice; its leading dimensions are all given."""
    flat = np.ravel_multi_index(np.broadcast_arrays(*positions), shape[: len(positions)])
    return len(np.unique(flat)) != flat.size


@operator("scatter_elements")
def scatter_elements(call: Invocation) -> Value:
    """Write along one dimension; of several updates at one position the last one stays."""
    data, indices, updates = call.array(0), call.array(1), call.array(2)
    axis = call.axis(data.ndim) or 0
    reduction = str(call.attrs.reduction)
    places = wrapped(indices, data.shape[axis])
    positions: list[Any] = list(np.indices(indices.shape, sparse=True))
    positions[axis] = places
    if reduction != "update":
        return _accumulate(data, tuple(positions), updates, reduction)
    result = data.copy()
    # numpy writes in order, so that the last of several stays
    result[tuple(positions)] = updates
    return result


@operator("scatter_nd")
def scatter_nd(call: Invocation) -> Value:
    """Write slices whose leading positions are the last dimension of the indices, in order."""
    data, indices, updates = call.array(0), call.array(1), call.array(2)
    depth, reduction = indices.shape[-1], str(call.attrs.reduction)
    places = [in_range(indices[..., axis], data.shape[axis]).reshape(-1) for axis in range(depth)]
    slices = updates.reshape(-1, *data.shape[depth:])
    if reduction != "update":
        return _accumulate(data, tuple(places), slices, reduction)
    result = data.copy()
    result[tuple(places)] = slices
    return result


@operator("index_put")
def index_put(call: Invocation) -> Value:
    """Write at positions given as one tensor of indices a leading dimension."""
    data, values = call.array(0), call.array(2)
    places = tuple(wrapped(index, size) for index, size in zip(call.arrays(1), data.shape))
    if call.attrs.accumulate:
        return _accumulate(data, places, values, "add")
    if is_repeated(places, data.shape):
        raise NotEvaluable("a position that is written twice, in no order")
    result = data.copy()
    result[places] = values
    return result


@operator("slice_scatter")
def slice_scatter(call: Invocation) -> Value:
    """Write over the elements of a strided slice along one dimension."""
    data, source = call.array(0), call.array(1)
    start, end, step = (int(call.scalar(index)) for index in (2, 3, 4))
    if step < 1:
        raise NotEvaluable("a step that is not positive")
    at = [slice(None)] * data.ndim
    at[call.axis(data.ndim) or 0] = slice(start, end, step)
    result = data.copy()
    if result[tuple(at)].shape != source.shape:
        raise NotEvaluable(f"{source.shape} does not fill the slice")
    result[tuple(at)] = source
    return result
