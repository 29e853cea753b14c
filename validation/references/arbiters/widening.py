"""What counts as a floating-point array, and how it becomes float64."""

from __future__ import annotations

import numpy as np


def is_floating(dtype: np.dtype) -> bool:
    """Tell whether a dtype holds real floating-point numbers, ``ml_dtypes``' own included."""
    return dtype.kind == "f" or "float" in dtype.name


def widened(array: np.ndarray) -> np.ndarray:
    """Give floating-point numbers as float64, and anything else as it is."""
    array = np.asarray(array)
    return array.astype(np.float64) if is_floating(array.dtype) else array
