"""Operators that make a tensor out of a shape or a range."""

from __future__ import annotations

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.unary import cast
from forge.evaluate.values import Value


@operator("full", "full_like")
def full(call: Invocation) -> Value:
    """Fill a shape, given or another tensor's, with one value."""
    return np.full(_shape(call), cast(call.array(1), call.dtype).reshape(())[()], call.dtype)


@operator("zeros", "zeros_like")
def zeros(call: Invocation) -> Value:
    """Fill a shape with zeros."""
    return np.zeros(_shape(call), call.dtype)


@operator("ones", "ones_like")
def ones(call: Invocation) -> Value:
    """Fill a shape with ones."""
    return np.ones(_shape(call), call.dtype)


def _shape(call: Invocation) -> tuple[int, ...]:
    first = call.args[0]
    return first.shape if isinstance(first, np.ndarray) else call.shape(0)


@operator("arange")
def arange(call: Invocation) -> Value:
    """Count from a start to before an end."""
    start, end, step = (call.scalar(index) for index in range(3))
    if step == 0:
        raise NotEvaluable("arange with a step of zero")
    return np.arange(start, end, step, dtype=call.dtype)


@operator("eye", "eye_like")
def eye(call: Invocation) -> Value:
    """Set one diagonal of a matrix to ones."""
    if isinstance(call.args[0], np.ndarray):
        (rows, columns), rest = call.args[0].shape, 1
    else:
        rows = int(call.scalar(0))
        columns = int(call.scalar(1)) if len(call.args) > 1 else rows
        rest = 2
    offset = int(call.scalar(rest)) if len(call.args) > rest else 0
    return np.eye(rows, columns, offset, dtype=call.dtype)


def _register_triangle(name: str, upper: bool) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        array, offset = call.array(0), int(call.scalar(1))
        rows, columns = np.ogrid[: array.shape[-2], : array.shape[-1]]
        kept = columns - rows >= offset if upper else columns - rows <= offset
        return np.where(kept, array, array.dtype.type(0))


_register_triangle("tril", upper=False)
_register_triangle("triu", upper=True)


@operator("one_hot")
def one_hot(call: Invocation) -> Value:
    """Mark each index along a new axis; an index out of range marks nothing."""
    indices = call.array(0)
    on_value, off_value = call.scalar(1), call.scalar(2)
    axis = int(call.attrs.axis) % (indices.ndim + 1)
    depth = np.arange(int(call.attrs.depth), dtype=indices.dtype)
    marks = np.expand_dims(indices, axis) == depth.reshape((-1,) + (1,) * (indices.ndim - axis))
    return np.asarray(np.where(marks, call.dtype.type(on_value), call.dtype.type(off_value)))


@operator("hamming_window")
def hamming_window(call: Invocation) -> Value:
    """Make a window of one raised cosine; a periodic one leaves out its last element."""
    size, periodic, alpha, beta = (call.scalar(index) for index in range(4))
    if size == 1:
        return np.ones(1, call.dtype)
    turns = size if periodic else size - 1
    angles = 2.0 * np.pi * np.arange(size, dtype=np.float64) / turns
    return np.asarray(alpha - beta * np.cos(angles)).astype(call.dtype)
