"""Matrix products: floats in float64 and rounded once, integers exact."""

from __future__ import annotations

from math import prod

import numpy as np

from forge.evaluate.registry import Invocation, operator
from forge.evaluate.values import Value, is_floating


def accumulator(dtype: np.dtype, *operands: np.dtype) -> np.dtype:
    """Choose what to sum products in so that the sum of integers is exact, and float ones close.

    Products of 16-bit integers are below 2**32, so float64 holds the sum of 2**21 of them
    exactly, and multiplies matrices a hundred times faster than integers. Wider integers
    wrap around in the result's dtype, as compiled code does.

    Args:
        dtype: Of the result.
        operands: Of what is multiplied.
    """
    narrow = all(operand.kind in "iub" and operand.itemsize <= 2 for operand in operands)
    return np.dtype(np.float64) if is_floating(dtype) or narrow else dtype


def rounded(total: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Bring an exact sum to the result's dtype: floats rounded once, integers wrapped around."""
    if total.dtype.kind == "f" and not is_floating(dtype):
        total = total.astype(np.int64)
    return total.astype(dtype, copy=False)


@operator("matmul")
def matmul(call: Invocation) -> Value:
    """Multiply matrices, or batches of such."""
    left, right, dtype = call.array(0), call.array(1), call.dtype
    wide = accumulator(dtype, left.dtype, right.dtype)
    left, right = left.astype(wide, copy=False), right.astype(wide, copy=False)
    if left.ndim > 2 and right.ndim == 2:
        # one large product is faster than a batch of small ones
        product = np.matmul(left.reshape(prod(left.shape[:-1]), left.shape[-1]), right)
        product = product.reshape(*left.shape[:-1], right.shape[-1])
    else:
        product = np.matmul(left, right)
    return rounded(np.asarray(product), dtype)


@operator("einsum")
def einsum(call: Invocation) -> Value:
    """Sum products over named dimensions."""
    arrays, dtype = call.arrays(0), call.dtype
    wide = accumulator(dtype, *(array.dtype for array in arrays))
    if len(arrays) > 2 and not is_floating(dtype):
        wide = dtype
    operands = [array.astype(wide, copy=False) for array in arrays]
    total = np.einsum(str(call.attrs.subscripts).replace(" ", ""), *operands, optimize=True)
    return rounded(np.asarray(total), dtype)


@operator("outer")
def outer(call: Invocation) -> Value:
    """Multiply every element of one vector with every element of another."""
    return np.asarray(np.multiply.outer(call.array(0), call.array(1)))
