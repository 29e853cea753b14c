"""Operators that combine elements along dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forge.evaluate.arithmetic import truncated_quotient
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating

Reduction = Callable[..., Any]


def _register(name: str, function: Reduction, integers: bool = True) -> None:
    """Register a reduction: floats in float64 and rounded once, integers in their own dtype."""

    @operator(name)
    def evaluate(call: Invocation) -> Value:
        array = call.array(0)
        keep = bool(call.attrs.keepdims)
        if array.size == 0 and function not in (np.sum, np.prod):
            raise NotEvaluable("a reduction of nothing")
        if is_floating(array.dtype):
            wide = function(array.astype(np.float64), axis=call.axes(), keepdims=keep)
            return np.asarray(wide).astype(array.dtype)
        if not integers:
            raise NotEvaluable(f"not defined on {array.dtype}")
        return np.asarray(function(array, axis=call.axes(), keepdims=keep)).astype(array.dtype)


def _mean(array: np.ndarray, axis: tuple[int, ...] | None, keepdims: bool) -> np.ndarray:
    """Average; integers are divided rounding to zero, as C does."""
    if is_floating(array.dtype):
        return np.asarray(np.mean(array, axis=axis, keepdims=keepdims))
    total = np.asarray(np.sum(array, axis=axis, keepdims=keepdims, dtype=np.int64))
    count = np.int64(array.size // max(total.size, 1))
    return truncated_quotient(total, np.full(total.shape, count))


for _name, _function, _integers in (
    ("sum", np.sum, True),
    ("prod", np.prod, True),
    ("max", np.max, True),
    ("min", np.min, True),
    ("mean", _mean, True),
    ("variance", np.var, False),
    ("std", np.std, False),
):
    _register(_name, _function, _integers)


def _register_search(name: str, function: Reduction) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        array = call.array(0)
        if is_floating(array.dtype) and np.any(np.isnan(array)):
            raise NotEvaluable("the position of an extreme among NaN")
        keep = bool(call.attrs.keepdims)
        found = function(array, axis=call.axis(array.ndim), keepdims=keep)
        return np.asarray(found).astype(call.dtype)


_register_search("argmax", np.argmax)
_register_search("argmin", np.argmin)


def _register_scan(name: str, function: Reduction, neutral: int) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        array, dtype = call.array(0), call.dtype
        axis = call.axis(array.ndim)
        if axis is None:
            array, axis = array.reshape(-1), 0
        wide = np.dtype(np.float64) if is_floating(dtype) else dtype
        scanned = function(array.astype(wide), axis=axis, dtype=wide)
        if call.attrs.exclusive:
            scanned = np.roll(scanned, 1, axis)
            first = [slice(None)] * scanned.ndim
            first[axis] = slice(0, 1)
            scanned[tuple(first)] = neutral
        return np.asarray(scanned).astype(dtype)


_register_scan("cumsum", np.cumsum, 0)
_register_scan("cumprod", np.cumprod, 1)
