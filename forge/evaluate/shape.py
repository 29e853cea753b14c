"""Operators between tensors and shapes."""

from __future__ import annotations

import numpy as np

from forge.evaluate.registry import Invocation, operator
from forge.evaluate.values import Shape, Value


@operator("shape_of")
def shape_of(call: Invocation) -> Value:
    """Give the shape of a tensor."""
    return Shape(call.array(0).shape)


@operator("shape_to_tensor")
def shape_to_tensor(call: Invocation) -> Value:
    """Make an int64 vector of a shape."""
    return np.asarray(call.shape(0), np.int64)


@operator("tensor_to_shape")
def tensor_to_shape(call: Invocation) -> Value:
    """Make a shape of an integer vector."""
    return Shape(int(dim) for dim in call.array(0))


@operator("size")
def size(call: Invocation) -> Value:
    """Count the elements of a tensor."""
    return np.asarray(call.array(0).size, call.dtype)
