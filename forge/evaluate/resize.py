"""Resize images, every coordinate an exact fraction.

Compiled code computes coordinates in float32; where such a rounding picks another pixel, or
another branch, it is compiled code that is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from forge.evaluate.layouts import spatial_letters
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.unary import cast
from forge.evaluate.values import Value

Taps = tuple[np.ndarray, np.ndarray]
_HALF = Fraction(1, 2)


def _coordinates(mode: str, size: int, target: int, start: float, end: float) -> list[Fraction]:
    """Say where in the input each output position lies."""
    scale = Fraction(size, target)
    last = target - 1
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and target > 1):
        return [(place + _HALF) * scale - _HALF for place in range(target)]
    if mode == "pytorch_half_pixel":
        return [Fraction(0)] * target
    if mode == "align_corners":
        return [Fraction(place * (size - 1), max(last, 1)) for place in range(target)]
    if mode == "asymmetric":
        return [place * scale for place in range(target)]
    if mode == "tf_half_pixel_for_nn":
        return [(place + _HALF) * scale for place in range(target)]
    if mode == "tf_crop_and_resize":
        first, beyond = Fraction(start) * (size - 1), Fraction(end) * (size - 1)
        if target == 1:
            return [(first + beyond) / 2]
        return [first + place * (beyond - first) / last for place in range(target)]
    raise NotEvaluable(f"coordinates by {mode}")


_ROUNDING: dict[str, Callable[[Fraction], int]] = {
    "round": round,
    "round_prefer_floor": lambda place: math.ceil(place - _HALF),
    "round_prefer_ceil": lambda place: math.floor(place + _HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}


def _nearest(places: Sequence[Fraction], rounding: str) -> list[int]:
    if rounding not in _ROUNDING:
        raise NotEvaluable(f"rounding by {rounding}")
    return [_ROUNDING[rounding](place) for place in places]


def _linear(places: Sequence[Fraction]) -> Taps:
    """Give two neighbours of each place, and how much of each it takes."""
    floors = np.asarray([math.floor(place) for place in places])
    part = np.asarray([float(place - math.floor(place)) for place in places])
    return np.stack([floors, floors + 1]), np.stack([1.0 - part, part])


def _cubic(places: Sequence[Fraction], alpha: float, size: int, exclude: bool) -> Taps:
    """Give four neighbours of each place, and how much of each it takes."""
    floors = np.asarray([math.floor(place) for place in places])
    part = np.asarray([float(place - math.floor(place)) for place in places])
    neighbours = floors + np.arange(-1, 3)[:, None]
    distance = np.abs(np.stack([1.0 + part, part, 1.0 - part, 2.0 - part]))
    near = ((alpha + 2) * distance - (alpha + 3)) * distance**2 + 1
    far = ((alpha * distance - 5 * alpha) * distance + 8 * alpha) * distance - 4 * alpha
    weights = np.where(distance <= 1.0, near, far)
    if exclude:
        weights = np.where((neighbours >= 0) & (neighbours < size), weights, 0.0)
        weights = weights / weights.sum(axis=0)
    return neighbours, weights


def _weighted(data: np.ndarray, axis: int, taps: Taps) -> np.ndarray:
    places, weights = taps
    shape = [1] * data.ndim
    shape[axis] = -1
    total: Any = 0.0
    for place, weight in zip(np.clip(places, 0, data.shape[axis] - 1), weights, strict=True):
        total = total + data.take(place, axis) * weight.reshape(shape)
    return np.asarray(total)


def _blanked(
    data: np.ndarray, axis: int, places: Sequence[Fraction], size: int, value: float
) -> np.ndarray:
    """Put a value where the image was cropped beyond its border."""
    inside = np.asarray([0 <= place <= size - 1 for place in places])
    shape = [1] * data.ndim
    shape[axis] = -1
    return np.where(inside.reshape(shape), data, data.dtype.type(value))


@operator("image.resize2d", "image.resize3d")
def resize(call: Invocation) -> Value:
    """Resize by the nearest pixel, or linearly or cubically between pixels."""
    data, target, attrs = call.array(0), call.shape(1), call.attrs
    layout, method = str(attrs.layout), str(attrs.method)
    mode, rounding = str(attrs.coordinate_transformation_mode), str(attrs.rounding_method)
    letters = spatial_letters(layout)
    if len(layout) != data.ndim or method not in ("nearest_neighbor", "linear", "cubic"):
        raise NotEvaluable(f"layout {layout}, method {method}")
    region = [float(getattr(value, "value", value)) for value in attrs.roi]
    rank = len(letters)
    # resize2d lists height before width, resize3d width before height before depth
    starts, ends = region[:rank], region[rank:]
    if rank == 3:
        starts, ends = starts[::-1], ends[::-1]
    result = data if method == "nearest_neighbor" else data.astype(np.float64)
    blanks = []
    for letter, wanted, start, end in zip(letters, target, starts, ends, strict=True):
        axis = layout.index(letter)
        size = data.shape[axis]
        places = _coordinates(mode, size, wanted, start, end)
        if method == "linear":
            result = _weighted(result, axis, _linear(places))
        elif method == "cubic":
            exclude = bool(attrs.cubic_exclude)
            taps = _cubic(places, float(attrs.cubic_alpha), size, exclude)
            result = _weighted(result, axis, taps)
        else:
            default = "round" if mode == "align_corners" else "floor"
            nearest = _nearest(places, rounding or default)
            result = result.take(np.clip(nearest, 0, size - 1), axis)
        blanks.append((axis, places, size))
    if mode == "tf_crop_and_resize":
        for axis, places, size in blanks:
            result = _blanked(result, axis, places, size, float(attrs.extrapolation_value))
    return cast(result, call.dtype)
