"""Sample images at computed places."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np

from forge.evaluate.layouts import reordered, spatial_letters
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value

# as torch and ONNX have it
_ALPHA = -0.75


@operator("image.affine_grid")
def affine_grid(call: Invocation) -> Value:
    """Make the grid, x before y before z, that maps an image through an affine matrix."""
    matrix, sizes = call.array(0).astype(np.float64), call.shape(1)
    axes = [_centres(size, bool(call.attrs.align_corners)) for size in sizes]
    places = np.meshgrid(*axes, np.ones(1), indexing="ij")
    # the columns of the matrix are x, y, z and the shift
    homogeneous = np.stack([*(place[..., 0] for place in places[:-1][::-1]), places[-1][..., 0]])
    grid = np.tensordot(matrix, homogeneous, axes=([2], [0]))
    return grid.astype(call.dtype)


def _centres(size: int, align_corners: bool) -> np.ndarray:
    if align_corners:
        return np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(size)
    return (2.0 * np.arange(size) + 1.0) / size - 1.0


class _Sampler:
    """Reads an image in the order NC+spatial at places given in pixels, in float64."""

    def __init__(self, data: np.ndarray, padding: str, align_corners: bool) -> None:
        if padding not in ("zeros", "border", "reflection"):
            raise NotEvaluable(f"padding mode {padding}")
        self.data = data.astype(np.float64)
        self.padding = padding
        self.align_corners = align_corners
        self._batch = np.arange(data.shape[0])

    def place(self, normalised: np.ndarray, size: int) -> np.ndarray:
        """Turn a coordinate between -1 and 1 into pixels."""
        if self.align_corners:
            return (normalised + 1.0) * (size - 1) / 2.0
        return ((normalised + 1.0) * size - 1.0) / 2.0

    def bounded(self, place: np.ndarray, size: int) -> np.ndarray:
        """Bring a place into the image, unless what is outside counts as zeros."""
        if self.padding == "reflection":
            place = self._reflected(place, size)
        return place if self.padding == "zeros" else np.clip(place, 0, size - 1)

    def _reflected(self, place: np.ndarray, size: int) -> np.ndarray:
        low, span = (0.0, size - 1.0) if self.align_corners else (-0.5, float(size))
        if span == 0:
            return np.zeros_like(place)
        distance = np.abs(place - low)
        turns = np.floor(distance / span)
        rest = distance - turns * span
        return np.where(turns % 2 == 0, rest + low, span - rest + low)

    def pixels(self, places: list[np.ndarray]) -> np.ndarray:
        """Read pixels at whole places, one array a spatial dimension: N, C, places."""
        inside = np.ones(places[0].shape, bool)
        indices = []
        for place, size in zip(places, self.data.shape[2:], strict=True):
            inside &= (place >= 0) & (place < size)
            indices.append(np.clip(place, 0, size - 1).astype(np.int64))
        batch = self._batch.reshape((-1,) + (1,) * (inside.ndim - 1))
        found = np.where(inside[..., None], self.data[(batch, slice(None), *indices)], 0.0)
        return np.moveaxis(found, -1, 1)


def _nearest(sampler: _Sampler, places: list[np.ndarray]) -> np.ndarray:
    bounded = map(sampler.bounded, places, sampler.data.shape[2:])
    return sampler.pixels([np.rint(place) for place in bounded])


def _linear(sampler: _Sampler, places: list[np.ndarray]) -> np.ndarray:
    bounded = list(map(sampler.bounded, places, sampler.data.shape[2:]))
    floors = [np.floor(place) for place in bounded]
    parts = [place - floor for place, floor in zip(bounded, floors, strict=True)]
    total = np.zeros(1)
    for corner in product((0, 1), repeat=len(floors)):
        weights = [part if far else 1.0 - part for far, part in zip(corner, parts, strict=True)]
        pixels = sampler.pixels([floor + far for far, floor in zip(corner, floors, strict=True)])
        total = total + pixels * reduce(np.multiply, weights)[:, None]
    return total


def _cubic_weights(part: np.ndarray) -> list[np.ndarray]:
    def near(x: np.ndarray) -> np.ndarray:
        return np.asarray(((_ALPHA + 2) * x - (_ALPHA + 3)) * x * x + 1)

    def far(x: np.ndarray) -> np.ndarray:
        return np.asarray(((_ALPHA * x - 5 * _ALPHA) * x + 8 * _ALPHA) * x - 4 * _ALPHA)

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def _cubic(sampler: _Sampler, places: list[np.ndarray]) -> np.ndarray:
    if len(places) != 2:
        raise NotEvaluable("cubic sampling of a volume")
    floors = [np.floor(place) for place in places]
    weights = [_cubic_weights(place - floor) for place, floor in zip(places, floors, strict=True)]
    total = np.zeros(1)
    for taps in product(range(4), repeat=len(floors)):
        # here it is the neighbours that are brought into the image, not the place itself
        neighbours = [
            sampler.bounded(floor + tap - 1, size)
            for tap, floor, size in zip(taps, floors, sampler.data.shape[2:], strict=True)
        ]
        weight = reduce(np.multiply, [weights[axis][tap] for axis, tap in enumerate(taps)])
        total = total + sampler.pixels([np.trunc(n) for n in neighbours]) * weight[:, None]
    return total


_METHODS = {"nearest": _nearest, "bilinear": _linear, "bicubic": _cubic}


@operator("image.grid_sample")
def grid_sample(call: Invocation) -> Value:
    """Sample at a grid of N, coordinates x before y before z, places."""
    layout, method = str(call.attrs.layout), str(call.attrs.method)
    order = f"NC{spatial_letters(layout)}"
    data, grid = reordered(call.array(0), layout, order), call.array(1).astype(np.float64)
    if method not in _METHODS or grid.shape[1] != len(order) - 2:
        raise NotEvaluable(f"method {method} with a grid of {grid.shape}")
    if not np.all(np.isfinite(grid)):
        raise NotEvaluable("a grid that is not finite")
    sampler = _Sampler(data, str(call.attrs.padding_mode), bool(call.attrs.align_corners))
    places = [sampler.place(grid[:, -1 - axis], size) for axis, size in enumerate(data.shape[2:])]
    sampled = _METHODS[method](sampler, places).astype(call.dtype)
    return reordered(sampled, order, layout)
