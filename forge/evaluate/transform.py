"""Rearrange a tensor by an index map, as a compiler that chooses layouts does."""

from __future__ import annotations

import numpy as np
import tvm

from forge.evaluate.expressions import Scope
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


@operator("layout_transform")
def layout_transform(call: Invocation) -> Value:
    """Move each element to where a map of its indices says; pad what no element moves to."""
    array, index_map = call.array(0), call.attrs.index_map
    if len(index_map.initial_indices) != array.ndim:
        raise NotEvaluable("an index map of another rank")
    scope = Scope()
    grid: tuple[np.ndarray, ...] = np.indices(array.shape, sparse=True)
    for variable, places in zip(index_map.initial_indices, grid, strict=True):
        scope.bind(variable, places)
    sizes = index_map.map_shape([tvm.tirx.IntImm("int64", size) for size in array.shape])
    pad = call.attrs.pad_value
    # without a value for it, padding may hold anything; compiled code writes zeros
    result = np.full([int(size) for size in sizes], 0 if pad is None else pad.value, array.dtype)
    targets = [scope.value(target) for target in index_map.final_indices]
    result[tuple(np.broadcast_arrays(*targets))] = array
    return result
