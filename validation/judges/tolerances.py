"""How far two right answers may lie apart: the default tolerance, by dtype and depth.

Rounding errors add up like a random walk, with the root of their number. Over n roundings
(``forge.accumulation``) two right runtimes differ by about k · eps · √n of an output's size:

================================================  ==========  =========
compiled against native, largest element          k measured  k allowed
================================================  ==========  =========
float32: 23 operators (n 2 to 148)                0 to 0.4    8
float32: random nets of 3 to 50 layers            0.03 to 1.1 8
float32: 57 models of the zoo (n 2 to 448,259)    0 to 1      8
float64: the same operators and nets              0 to 1      8
float16, bfloat16: the same operators and nets    0 to 0.35   2
================================================  ==========  =========

So a float32 net is judged by 1e-6 (one addition), 2e-5 (n 300) or 6e-5 (50 dense layers of 64),
and its real error is 7 to 100 times below. Half precision has less room: beside summing in 16 bits
nothing else is that inexact. Four more models of the zoo amplify errors, as a logarithm of small
values does (k 5 to 63): these are left to the float64 run, or need a tolerance of their own. A
result beyond the ceilings is not taken for right at any depth.
"""

from __future__ import annotations

import math

import numpy as np

_FACTOR, _FACTOR_OF_HALF = 8.0, 2.0
_CEILING, _CEILING_OF_HALF = 1e-3, 5e-2
_BLOCK = 1 << 16


def relative_tolerance(dtype: np.dtype, accumulations: int = 1) -> float:
    """Give the relative tolerance for results of a dtype: k · eps · √n, up to a ceiling.

    Args:
        dtype: Integers and booleans have a tolerance of 0.
        accumulations: How many roundings stand one behind the other.
    """
    if is_whole(dtype):
        return 0.0
    eps = epsilon_of(dtype)
    factor = _FACTOR_OF_HALF if is_half(dtype) else _FACTOR
    return min(factor * eps * math.sqrt(max(accumulations, 1)), ceiling_of(dtype))


def ceiling_of(dtype: np.dtype) -> float:
    """Give the relative error from which on a result of this dtype is no longer right."""
    eps = epsilon_of(dtype)
    return max(_CEILING_OF_HALF, eps) if is_half(dtype) else min(_CEILING, _CEILING * eps / 2**-23)


def is_whole(dtype: np.dtype) -> bool:
    """Tell whether a dtype is boolean or an integer one, of the 4 bits that ml_dtypes knows too."""
    return dtype.kind in "biu" or (dtype.kind == "V" and dtype.name.startswith(("int", "uint")))


def is_half(dtype: np.dtype) -> bool:
    """Tell whether a floating-point dtype has 16 bits or fewer."""
    return dtype.kind in "fV" and dtype.itemsize <= 2 and not is_whole(dtype)


def epsilon_of(dtype: np.dtype) -> float:
    """Give the distance from 1 to the next larger number of a floating-point dtype."""
    if dtype.kind == "V":
        import ml_dtypes

        return float(ml_dtypes.finfo(dtype).eps)
    return float(np.finfo(dtype).eps)


def root_mean_square(array: np.ndarray) -> float:
    """Give the root mean square of the elements that are finite; 0 where there is none.

    Neither squares nor their sum overflow.
    """
    flat = array.reshape(-1)
    largest, total, count = 0.0, 0.0, 0
    for start in range(0, flat.size, _BLOCK):
        values = magnitude_of(flat[start : start + _BLOCK])
        values = values[np.isfinite(values)]
        count += values.size
        top = float(values.max(initial=0.0))
        if not top:
            continue
        if top > largest:
            total *= (largest / top) ** 2
            largest = top
        # No product of vectors: on a busy machine BLAS waits for threads, 6 times as long as all.
        total += float(np.square(values / largest).sum())
    return largest * math.sqrt(total / count) if count else 0.0


def magnitude_of(array: np.ndarray) -> np.ndarray:
    """Give absolute values as float64: in their own type |-128| would be -128."""
    if array.dtype.kind == "c":
        return np.abs(array.astype(np.complex128))
    return np.abs(array.astype(np.float64))
