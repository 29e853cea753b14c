"""Pool regions of interest, each a batch entry and two corners, in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from forge.evaluate.indexing import in_range
from forge.evaluate.layouts import reordered
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


def _regions(call: Invocation, data: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Give each region's image and its corners left, top, right, bottom in pixels."""
    regions = call.array(1).astype(np.float64)
    if not np.all(np.isfinite(regions)):
        raise NotEvaluable("a region that is not finite")
    entries = in_range(regions[:, 0].astype(np.int64), len(data))
    for entry, corners in zip(entries, regions[:, 1:], strict=True):
        yield data[entry], corners * float(call.attrs.spatial_scale)


def _sampled(image: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Read between pixels at the grid of rows and columns; zero far outside the image."""
    height, width = image.shape[1:]
    outside = ((rows < -1) | (rows > height))[:, None] | ((columns < -1) | (columns > width))
    rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
    up, left = np.floor(rows).astype(np.int64), np.floor(columns).astype(np.int64)
    down, right = np.minimum(up + 1, height - 1), np.minimum(left + 1, width - 1)
    down_part, right_part = (rows - up)[:, None], columns - left
    upper = image[:, up][:, :, left] * (1 - right_part) + image[:, up][:, :, right] * right_part
    lower = image[:, down][:, :, left] * (1 - right_part) + image[:, down][:, :, right] * right_part
    values = upper * (1 - down_part) + lower * down_part
    return np.where(outside, 0.0, values)


def _places(start: float, extent: float, bins: int, samples: int) -> np.ndarray:
    steps = (np.arange(samples) + 0.5) / max(samples, 1)
    return np.asarray(start + (np.arange(bins)[:, None] + steps) * (extent / bins)).reshape(-1)


@operator("vision.roi_align")
def roi_align(call: Invocation) -> Value:
    """Average, or take the largest of, samples between the pixels of each bin of a region."""
    attrs, layout = call.attrs, str(call.attrs.layout)
    data = reordered(call.array(0), layout, "NCHW").astype(np.float64)
    rows, columns = call.ints("pooled_size")
    pooled = []
    for image, (left, top, right, bottom) in _regions(call, data):
        height, width = bottom - top, right - left
        if not attrs.aligned:
            height, width = max(height, 1.0), max(width, 1.0)
        ratio = int(attrs.sample_ratio)
        down = ratio if ratio > 0 else max(math.ceil(height / rows), 0)
        across = ratio if ratio > 0 else max(math.ceil(width / columns), 0)
        samples = _sampled(
            image, _places(top, height, rows, down), _places(left, width, columns, across)
        ).reshape(len(image), rows, down, columns, across)
        if str(attrs.mode) == "max" and samples.size:
            pooled.append(samples.max(axis=(2, 4)))
        elif str(attrs.mode) == "avg":
            pooled.append(samples.sum(axis=(2, 4)) / max(down * across, 1))
        else:
            raise NotEvaluable(f"mode {attrs.mode} of {down * across} samples")
    result = np.stack(pooled) if pooled else np.zeros((0, data.shape[1], rows, columns))
    return reordered(result.astype(call.dtype), "NCHW", layout)


def _bounds(low: float, high: float, bins: int, size: int) -> list[tuple[int, int]]:
    """Divide a region, rounded to pixels, into bins that may share a pixel."""
    first, last = math.floor(low + 0.5), math.floor(high + 0.5)
    extent = max(last - first + 1, 1)
    edges = [(index * extent // bins, -(-(index + 1) * extent // bins)) for index in range(bins)]
    return [
        (min(max(start + first, 0), size), min(max(end + first, 0), size)) for start, end in edges
    ]


@operator("vision.roi_pool")
def roi_pool(call: Invocation) -> Value:
    """Take the largest pixel of each bin of a region; zero where a bin is empty."""
    data = reordered(call.array(0), str(call.attrs.layout), "NCHW")
    rows, columns = call.ints("pooled_size")
    pooled = np.zeros((len(call.array(1)), data.shape[1], rows, columns), data.dtype)
    for place, (image, (left, top, right, bottom)) in enumerate(_regions(call, data)):
        for row, (up, down) in enumerate(_bounds(top, bottom, rows, data.shape[2])):
            for column, (first, last) in enumerate(_bounds(left, right, columns, data.shape[3])):
                pixels = image[:, up:down, first:last]
                if pixels.size:
                    pooled[place, :, row, column] = pixels.max(axis=(1, 2))
    return pooled.astype(call.dtype)
