"""Pooling over windows, and adaptive pooling, of any rank and layout.

A window may reach beyond the padded tensor where ``ceil_mode`` asks for it; what is out there
takes no part, neither in a maximum nor in the number of elements that an average divides by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from forge.evaluate.arithmetic import truncated_quotient
from forge.evaluate.layouts import padded, reordered, sides, spatial_letters
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating, lowest


class _Windows:
    """The windows of a pooling call over data in the order NC+spatial."""

    def __init__(self, call: Invocation, data: np.ndarray) -> None:
        self.taps, self.strides = call.ints("pool_size"), call.ints("strides")
        self.dilation, self.pads = call.ints("dilation"), sides(call.ints("padding"))
        self.data = data
        self.sizes = [
            self._count(axis, size, bool(call.attrs.ceil_mode))
            for axis, size in enumerate(data.shape[2:])
        ]

    def _count(self, axis: int, size: int, ceil: bool) -> int:
        before, after = self.pads[axis]
        reach = (self.taps[axis] - 1) * self.dilation[axis] + 1
        free, stride = size + before + after - reach, self.strides[axis]
        if free < 0:
            raise NotEvaluable("a window larger than the tensor")
        count = (-(-free // stride) if ceil else free // stride) + 1
        # as every framework has it: no window starts in the padding behind
        return count - 1 if ceil and (count - 1) * stride >= size + before else count

    def _ends(self) -> list[tuple[int, int]]:
        """Pad so that every window lies inside."""
        ends = []
        for axis, (before, after) in enumerate(self.pads):
            last = (self.sizes[axis] - 1) * self.strides[axis]
            last += (self.taps[axis] - 1) * self.dilation[axis] + 1
            ends.append((before, max(after, last - before - self.data.shape[2 + axis])))
        return ends

    def combine(self, function: Callable[..., Any], neutral: Any) -> np.ndarray:
        """Fold the elements of each window, one position in the window after another."""
        whole = padded(self.data, self._ends(), neutral)

        def seen(tap: tuple[int, ...]) -> np.ndarray:
            cuts = []
            for axis, place in enumerate(tap):
                first = place * self.dilation[axis]
                last = first + (self.sizes[axis] - 1) * self.strides[axis] + 1
                cuts.append(slice(first, last, self.strides[axis]))
            return whole[(slice(None), slice(None), *cuts)]

        first, *others = product(*map(range, self.taps))
        result = seen(first).copy()
        for tap in others:
            function(result, seen(tap), out=result)
        return result

    def counts(self, with_padding: bool) -> np.ndarray:
        """Count the elements of each window that lie in the tensor, or in the padded one."""
        counts = []
        for axis, (before, after) in enumerate(self.pads):
            starts = np.arange(self.sizes[axis]) * self.strides[axis] - before
            places = starts[:, None] + np.arange(self.taps[axis]) * self.dilation[axis]
            size = self.data.shape[2 + axis]
            low, high = (-before, size + after) if with_padding else (0, size)
            counts.append(((places >= low) & (places < high)).sum(axis=1))
        return np.asarray(np.maximum(_grid(counts), 1))


def _grid(factors: Sequence[np.ndarray]) -> np.ndarray:
    """Multiply one vector a dimension into a tensor."""
    return np.asarray(reduce(np.multiply.outer, factors))


def _in(call: Invocation) -> tuple[np.ndarray, str]:
    layout = str(call.attrs.layout)
    order = f"NC{spatial_letters(layout)}"
    return reordered(call.array(0), layout, order), order


def _out(call: Invocation, result: np.ndarray, order: str) -> Value:
    layout = str(call.attrs.out_layout) or str(call.attrs.layout)
    return reordered(result.astype(call.dtype, copy=False), order, layout)


@operator("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def max_pool(call: Invocation) -> Value:
    """Take the largest element of each window; NaN where a window holds one."""
    data, order = _in(call)
    result = _Windows(call, data).combine(np.maximum, lowest(data.dtype))
    return _out(call, result, order)


def _average(total: np.ndarray, counts: np.ndarray) -> np.ndarray:
    if is_floating(total.dtype):
        return np.asarray(total / counts)
    return truncated_quotient(total, np.broadcast_to(counts.astype(total.dtype), total.shape))


def _summable(data: np.ndarray) -> np.ndarray:
    return data.astype(np.float64 if is_floating(data.dtype) else np.int64)


@operator("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def average_pool(call: Invocation) -> Value:
    """Average each window; over its padding too where ``count_include_pad`` says so."""
    data, order = _in(call)
    places = _Windows(call, _summable(data))
    total = places.combine(np.add, 0)
    return _out(call, _average(total, places.counts(bool(call.attrs.count_include_pad))), order)


@operator("nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d")
def adaptive_average_pool(call: Invocation) -> Value:
    """Average as many windows as are asked for, which share the tensor as evenly as can be."""
    data, order = _in(call)
    total = _summable(data)
    wanted = call.attrs.output_size
    sizes = data.shape[2:] if wanted is None else [int(size) for size in wanted]
    counts = []
    for axis, (size, count) in enumerate(zip(data.shape[2:], sizes, strict=True), start=2):
        starts = [index * size // count for index in range(count)]
        ends = [-(-(index + 1) * size // count) for index in range(count)]
        parts = [
            total.take(range(start, end), axis).sum(axis)
            for start, end in zip(starts, ends, strict=True)
        ]
        total = np.stack(parts, axis)
        counts.append(np.asarray(ends) - np.asarray(starts))
    return _out(call, _average(total, _grid(counts)), order)
