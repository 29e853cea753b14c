"""Clamp said with ``minimum`` and ``maximum``.

TVM clips to plus or minus infinity where a bound is left out, which fails on integers
("Cannot convert infinity to BigInt"), and loses NaN.

Measured with TVM 0.27.0.post1.
See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/torch/base_fx_graph_translator.py.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

aten = torch.ops.aten


def clamp(x: torch.Tensor, min: Any = None, max: Any = None) -> torch.Tensor:
    """Clamp, for scalar and tensor bounds of any dtype."""
    bounds = [bound for bound in (min, max) if bound is not None]
    _, result = elementwise_dtypes(x, *bounds, type_promotion_kind=KIND.DEFAULT)
    value = x.to(result)
    if min is not None:
        value = aten.maximum.default(value, _bound(min, result))
    if max is not None:
        value = aten.minimum.default(value, _bound(max, result))
    return value


def hardtanh(x: torch.Tensor, min_val: Any = -1.0, max_val: Any = 1.0) -> torch.Tensor:
    """Clamp to the given range, in the tensor's own dtype."""
    low, high = _bound(min_val, x.dtype), _bound(max_val, x.dtype)
    return aten.minimum.default(aten.maximum.default(x, low), high)


def _bound(bound: Any, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(bound, torch.Tensor):
        return bound.to(dtype)
    return torch.full((), bound, dtype=dtype)
