"""Reductions and products that torch accumulates in a wider type than their input's.

TVM sums float16 in float16 (a sum of 70000 ones is 2048), and a cumsum of bool fails to compile
(``Check failed: t.MatchesCode(kDLFloat)`` on gpt2, llama, whisper).

Measured with TVM 0.27.0.post1.
See https://github.com/apache/tvm/pull/20374.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

aten = torch.ops.aten
HALF = (torch.float16, torch.bfloat16)

_HALF_IN_FLOAT32 = (
    aten.sum.default,
    aten.sum.dim_IntList,
    aten.mean.default,
    aten.mean.dim,
    aten.prod.default,
    aten.prod.dim_int,
    aten.cumsum.default,
    aten.cumprod.default,
    aten._softmax.default,
    aten._log_softmax.default,
    aten.mm.default,
    aten.bmm.default,
    aten.convolution.default,
    aten.avg_pool1d.default,
    aten.avg_pool2d.default,
    aten.avg_pool3d.default,
    aten._adaptive_avg_pool2d.default,
    aten._adaptive_avg_pool3d.default,
    aten._native_batch_norm_legit_no_training.default,
    aten.topk.default,
    aten.sort.default,
)
_INT_ACCUMULATES = (aten.cumsum.default, aten.cumprod.default, aten.prod.default)


def rules() -> dict[Any, Callable[..., Any]]:
    """Give the rewrite of each accumulating operator, as decompositions for ``torch.export``."""
    table: dict[Any, Callable[..., Any]] = {o: _widening(o) for o in _HALF_IN_FLOAT32}
    table[aten.var.correction] = variance
    return table


def variance(
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> torch.Tensor:
    """Take the variance around the mean; TVM needs static sizes for the correction."""
    axes = [axis % x.dim() for axis in dim] if dim else list(range(x.dim()))
    wide = _widen(x)
    centred = wide - wide.mean(axes, keepdim=True)
    total = (centred * centred).sum(axes, keepdim=keepdim)
    count: Any = math.prod(x.shape[axis] for axis in axes)
    freedom = count - (1 if correction is None else correction)
    if isinstance(freedom, (int, float)):
        freedom = max(freedom, 0)
    return (total / freedom).to(x.dtype)


def _widening(operator: Any) -> Callable[..., Any]:
    def rule(*args: Any, **kwargs: Any) -> Any:
        first = args[0]
        if any(isinstance(arg, torch.Tensor) and arg.dtype in HALF for arg in args):
            result = kwargs.pop("dtype", None) or first.dtype
            if operator in (aten._softmax.default, aten._log_softmax.default) and args[2]:
                result, args = torch.float32, (*args[:2], False)
            value = operator(*(_widen(arg) for arg in args), **kwargs)
            if isinstance(value, tuple):
                return (value[0].to(result), *value[1:])
            return value.to(result)
        if operator in _INT_ACCUMULATES and not first.dtype.is_floating_point:
            dtype = kwargs.pop("dtype", None) or torch.int64
            if first.dtype != dtype:
                return operator(first.to(dtype), *args[1:], **kwargs)
            if "dtype" in kwargs:
                return operator(*args, **kwargs)
        return NotImplemented

    return rule


def _widen(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in HALF:
        return value.to(torch.float32)
    return value
