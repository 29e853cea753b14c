"""Quantise and dequantise, in float64 and rounded once."""

from __future__ import annotations

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value, is_floating


def _parameter(call: Invocation, index: int, data: np.ndarray) -> np.ndarray:
    """Shape a scale or a zero point, one value or one a channel, to broadcast over the data."""
    values = np.asarray(call.args[index]).astype(np.float64)
    if values.size == 1:
        return values.reshape(())
    shape = [1] * data.ndim
    shape[int(call.attrs.axis) % data.ndim] = -1
    return values.reshape(shape)


def _saturated(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Clip to what a dtype can hold."""
    if is_floating(dtype):
        limit = float(np.finfo(dtype).max) if dtype.kind == "f" else np.inf
        return np.asarray(np.clip(values, -limit, limit)).astype(dtype)
    if np.any(np.isnan(values)):
        raise NotEvaluable(f"NaN as {dtype}")
    info = np.iinfo(dtype)
    if dtype.itemsize > 4:
        raise NotEvaluable(f"quantising to {dtype}")
    return np.asarray(np.clip(values, info.min, info.max)).astype(dtype)


@operator("quantize")
def quantize(call: Invocation) -> Value:
    """Divide by the scale, round to even, add the zero point, and clip."""
    data = call.array(0)
    scale, zero_point = _parameter(call, 1, data), _parameter(call, 2, data)
    dtype = call.dtype
    # the quotient of two float32 numbers is rounded to float32 before it is rounded to a step
    scaled = (data / scale).astype(data.dtype).astype(np.float64)
    steps = scaled if is_floating(dtype) else np.rint(scaled)
    return _saturated(steps + zero_point, dtype)


@operator("dequantize")
def dequantize(call: Invocation) -> Value:
    """Subtract the zero point and multiply by the scale."""
    data = call.array(0)
    scale, zero_point = _parameter(call, 1, data), _parameter(call, 2, data)
    return _saturated((data.astype(np.float64) - zero_point) * scale, call.dtype)
