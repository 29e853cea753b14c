"""Operators that onnx's ReferenceEvaluator computes wrong and that are too common to do without.

Written from the operators' definitions in the ONNX standard. Each was wrong or missing in onnx
1.23.2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun

_ALWAYS = 1 << 30


class BatchNormalization(OpRun):  # type: ignore[misc]
    """Before opset 14 the evaluator mixes in the statistics of the batch, or raises."""

    def _run(
        self,
        x: np.ndarray,
        scale: np.ndarray,
        bias: np.ndarray,
        mean: np.ndarray,
        variance: np.ndarray,
        epsilon: float = 1e-5,
        **training: Any,
    ) -> tuple[np.ndarray]:
        scale, bias, mean, variance = (
            each.reshape((-1,) + (1,) * (x.ndim - 2)) for each in (scale, bias, mean, variance)
        )
        result = (x - mean) / np.sqrt(variance + np.asarray(epsilon, variance.dtype)) * scale + bias
        return (result.astype(x.dtype),)


class _Coerced(OpRun):  # type: ignore[misc]
    """Before opset 13 the axes from ``axis`` on are one; the evaluator takes ``axis`` alone."""

    def _run(self, x: np.ndarray, axis: int | None = None) -> tuple[np.ndarray]:
        # The schema at hand is the newest, whose default is -1.
        given = any(each.name == "axis" for each in self.onnx_node.attribute)
        start = axis if given and axis is not None else 1
        rows = math.prod(x.shape[: start % x.ndim if start < 0 else start])
        matrix = x.reshape(rows, -1)
        return (self.of_rows(matrix - matrix.max(axis=1, keepdims=True)).reshape(x.shape),)

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        """Compute the function of each row, whose largest element is 0."""
        raise NotImplementedError


class Softmax(_Coerced):
    """exp(x) / sum of exp(x), of each row."""

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        powers = np.exp(rows)
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class LogSoftmax(_Coerced):
    """The logarithm of the same."""

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows - np.log(np.exp(rows).sum(axis=1, keepdims=True)))


class Hardmax(_Coerced):
    """1 at the first largest element of each row, else 0."""

    def of_rows(self, rows: np.ndarray) -> np.ndarray:
        result = np.zeros_like(rows)
        result[np.arange(len(rows)), rows.argmax(axis=1)] = 1
        return result


class Erf(OpRun):  # type: ignore[misc]
    """The evaluator rounds the result to float32."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray]:
        return (np.vectorize(math.erf, otypes=["d"])(x).astype(x.dtype),)


class LRN(OpRun):  # type: ignore[misc]
    """The evaluator counts the samples where it should count the channels."""

    def _run(
        self,
        x: np.ndarray,
        alpha: float = 1e-4,
        beta: float = 0.75,
        bias: float = 1.0,
        size: int = 1,
    ) -> tuple[np.ndarray]:
        channels = x.shape[1]
        squares, total = x * x, np.zeros_like(x)
        for offset in range(-((size - 1) // 2), size // 2 + 1):
            low, high = max(0, -offset), min(channels, channels - offset)
            if low < high:
                total[:, low:high] += squares[:, low + offset : high + offset]
        return ((x / (bias + alpha / size * total) ** beta).astype(x.dtype),)


class GlobalMaxPool(OpRun):  # type: ignore[misc]
    """The evaluator takes the maximum over the last two axes, however many there are."""

    def _run(self, x: np.ndarray, **unused: Any) -> tuple[np.ndarray]:
        return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


class GatherElements(OpRun):  # type: ignore[misc]
    """The evaluator fails where a dimension has more than 64 elements."""

    def _run(self, data: np.ndarray, indices: np.ndarray, axis: int = 0) -> tuple[np.ndarray]:
        where = tuple(
            slice(None) if each == axis % data.ndim else slice(0, size)
            for each, size in enumerate(indices.shape)
        )
        return (np.take_along_axis(data[where], indices, axis),)


class MaxPool(OpRun):  # type: ignore[misc]
    """The evaluator mixes up begin and end of uneven pads, and rounds down for SAME_LOWER."""

    def _run(
        self,
        x: np.ndarray,
        auto_pad: str = "NOTSET",
        ceil_mode: int = 0,
        dilations: Sequence[int] | None = None,
        kernel_shape: Sequence[int] = (),
        pads: Sequence[int] | None = None,
        storage_order: int = 0,
        strides: Sequence[int] | None = None,
    ) -> tuple[np.ndarray]:
        rank = len(kernel_shape)
        steps = list(strides or [1] * rank)
        gaps = list(dilations or [1] * rank)
        lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        widths, sizes = [(0, 0), (0, 0)], []
        for axis in range(rank):
            extent = (kernel_shape[axis] - 1) * gaps[axis] + 1
            before, size = _window(
                x.shape[2 + axis],
                extent,
                steps[axis],
                auto_pad or "NOTSET",
                (pads[axis], pads[axis + rank]) if pads else (0, 0),
                bool(ceil_mode),
            )
            after = (size - 1) * steps[axis] + extent - x.shape[2 + axis] - before
            widths.append((before, max(after, 0)))
            sizes.append(size)
        padded = np.pad(x, widths, constant_values=lowest)
        result = np.full((*x.shape[:2], *sizes), lowest, x.dtype)
        for place in itertools.product(*map(range, kernel_shape)):
            sites = [
                slice(start * gap, start * gap + (size - 1) * step + 1, step)
                for start, gap, size, step in zip(place, gaps, sizes, steps, strict=True)
            ]
            np.maximum(result, padded[(slice(None), slice(None), *sites)], out=result)
        return (result,)


def _window(
    length: int, extent: int, step: int, auto_pad: str, pads: tuple[int, int], ceil: bool
) -> tuple[int, int]:
    """Say how many elements pad the front of an axis, and how many windows there are."""
    if auto_pad.startswith("SAME"):
        size = -(-length // step)
        total = max((size - 1) * step + extent - length, 0)
        return (total // 2 if auto_pad == "SAME_UPPER" else total - total // 2), size
    before, after = (0, 0) if auto_pad == "VALID" else pads
    room = length + before + after - extent
    size = (-(-room // step) if ceil else room // step) + 1
    if ceil and (size - 1) * step >= length + before:
        size -= 1
    return before, size


class DequantizeLinear(OpRun):  # type: ignore[misc]
    """The evaluator has none before opset 19, and rounds int32 to float32."""

    def _run(
        self,
        x: np.ndarray,
        scale: np.ndarray,
        zero_point: np.ndarray | None = None,
        axis: int = 1,
        block_size: int = 0,
        output_dtype: int = 0,
    ) -> tuple[np.ndarray]:
        if x.dtype.kind not in "iu" or block_size:
            raise NotImplementedError(f"DequantizeLinear of {x.dtype} in blocks of {block_size}")
        shape = [1] * x.ndim
        if scale.size > 1:
            shape[axis] = -1
        steps = x.astype(np.int64)
        if zero_point is not None:
            steps = steps - zero_point.astype(np.int64).reshape(shape if scale.size > 1 else ())
        return (steps.astype(scale.dtype) * scale.reshape(shape if scale.size > 1 else ()),)


class DynamicQuantizeLinear(OpRun):  # type: ignore[misc]
    """The evaluator computes the scale in float32, whatever the input's dtype."""

    def _run(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        highest, lowest = max(x.max(), 0), min(x.min(), 0)
        width = np.asarray(highest - lowest, x.dtype)
        scale = width / np.asarray(255, x.dtype) if width else np.ones((), x.dtype)
        zero_point = np.clip(np.rint(-lowest / scale), 0, 255).astype(np.uint8)
        quantised = np.clip(np.rint(x / scale) + zero_point, 0, 255).astype(np.uint8)
        return quantised, np.asarray(scale, x.dtype), np.asarray(zero_point)


# Each is used for opsets below the one beside it.
_MENDED: tuple[tuple[type[Any], int], ...] = (
    (BatchNormalization, 14),
    (Softmax, 13),
    (LogSoftmax, 13),
    (Hardmax, 13),
    (Erf, _ALWAYS),
    (LRN, _ALWAYS),
    (GlobalMaxPool, _ALWAYS),
    (GatherElements, _ALWAYS),
    (MaxPool, _ALWAYS),
    (DequantizeLinear, _ALWAYS),
    (DynamicQuantizeLinear, _ALWAYS),
)


def mended_for(opset: int) -> list[type[Any]]:
    """List the operators to be used instead of the evaluator's own."""
    return [operator for operator, below in _MENDED if opset < below]
