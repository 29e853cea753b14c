"""Layouts such as ``NCHW``, and the windows that convolution and pooling slide over a tensor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from forge.evaluate.registry import NotEvaluable


def reordered(array: np.ndarray, layout: str, order: str) -> np.ndarray:
    """View a tensor of one layout in the order of another.

    Raises:
        NotEvaluable: They have not the same letters, as for a packed ``NCHW4c``.
    """
    if sorted(layout) != sorted(order) or array.ndim != len(layout):
        raise NotEvaluable(f"layout {layout}")
    return array.transpose([layout.index(letter) for letter in order])


def spatial_letters(layout: str) -> str:
    """Name the dimensions of a layout that are neither batch nor channels, outermost first."""
    return "".join(letter for letter in "DHW" if letter in layout)


def windows(
    data: np.ndarray, taps: Sequence[int], strides: Sequence[int], dilation: Sequence[int]
) -> np.ndarray:
    """View all windows of a tensor.

    Args:
        data: Batch, channels and any number of spatial dimensions, padded already.
        taps: Elements of a window, one number a spatial dimension.
        strides: From one window to the next.
        dilation: From one element of a window to the next.

    Returns:
        Batch, channels, the positions of the windows, the elements of each. No copy.

    Raises:
        ValueError: A window is larger than the tensor.
    """
    rank = len(taps)
    reach = [(count - 1) * step + 1 for count, step in zip(taps, dilation, strict=True)]
    view = sliding_window_view(data, reach, axis=tuple(range(2, 2 + rank)))
    steps = [slice(None), slice(None)]
    steps += [slice(None, None, step) for step in (*strides, *dilation)]
    return view[tuple(steps)]


def padded(data: np.ndarray, pads: Sequence[tuple[int, int]], value: float | int = 0) -> np.ndarray:
    """Enlarge the spatial dimensions of batch, channels and spatial dimensions.

    Raises:
        NotEvaluable: A padding is negative.
    """
    if any(before < 0 or after < 0 for before, after in pads):
        raise NotEvaluable("a negative padding")
    if not any(before or after for before, after in pads):
        return data
    # np.pad is slow on small tensors: it visits each side of each dimension
    spatial = [
        size + before + after for size, (before, after) in zip(data.shape[2:], pads, strict=True)
    ]
    result = np.full((*data.shape[:2], *spatial), value, data.dtype)
    inner = tuple(
        slice(before, before + size) for size, (before, _) in zip(data.shape[2:], pads, strict=True)
    )
    result[(slice(None), slice(None), *inner)] = data
    return result


def sides(padding: Sequence[int]) -> list[tuple[int, int]]:
    """Pair the paddings before and after: Relax lists all before first."""
    rank = len(padding) // 2
    return list(zip(padding[:rank], padding[rank:], strict=True))
