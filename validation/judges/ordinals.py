"""Count the numbers between two numbers of a dtype: the distance in units in the last place."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_BITS = {2: np.int16, 4: np.int32, 8: np.int64}


def ulp_distance(ours: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Say how many numbers of their dtype two arrays lie apart, element by element.

    Zeros of both signs are one number; the smallest positive and the largest negative one lie two
    apart. Of integers this is the difference, of complex numbers the larger one of both parts.
    What it gives for NaN has no meaning.

    Args:
        ours, reference: Of the same shape and dtype.

    Returns:
        float64; exact below 2^53.
    """
    kind = ours.dtype.kind
    if kind == "c":
        real = ulp_distance(ours.real, reference.real)
        return np.asarray(np.maximum(real, ulp_distance(ours.imag, reference.imag)))
    if kind == "b":
        return np.asarray(np.not_equal(ours, reference), np.float64)
    if kind in "iu":
        return integer_distance(ours, reference)
    return integer_distance(_ordinals(ours), _ordinals(reference))


def integer_distance(ours: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Give |ours − reference| of integers as float64, without overflow."""
    if ours.dtype.itemsize < 8:
        return np.asarray(np.abs(ours.astype(np.float64) - reference))
    # Modular subtraction of the smaller from the larger is exact in the unsigned type.
    high, low = np.maximum(ours, reference), np.minimum(ours, reference)
    return np.asarray(high.view(np.uint64) - low.view(np.uint64), np.float64)


def _ordinals(values: np.ndarray) -> np.ndarray:
    """Number the values of a floating-point dtype in their order, zero being 0."""
    if values.dtype.itemsize == 1:
        table = _byte_ordinals(values.dtype)
        return np.asarray(table[np.ascontiguousarray(values).view(np.uint8)])
    bits = np.ascontiguousarray(values).view(_BITS[values.dtype.itemsize])
    sign = bits >> (8 * bits.dtype.itemsize - 1)
    magnitude = bits & np.iinfo(bits.dtype).max
    return np.asarray((magnitude ^ sign) - sign)


@lru_cache
def _byte_ordinals(dtype: np.dtype) -> np.ndarray:
    """Number all values of an 8-bit or narrower floating-point dtype, by their bytes."""
    with np.errstate(invalid="ignore"):
        values = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    known = np.unique(values[np.isfinite(values)])
    zero = int(np.searchsorted(known, 0.0))
    return (np.searchsorted(known, values) - zero).astype(np.int16)
