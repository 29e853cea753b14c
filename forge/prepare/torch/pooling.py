"""Pooling without ``ceil_mode`` and ``divisor_override``.

TVM ignores ``divisor_override`` (measured with 0.27.0.post1), and older releases let a last window
start in the padding under ``ceil_mode``: 10x10 where torch gives 9x9.
See https://github.com/apache/tvm/issues/18594.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

aten = torch.ops.aten


def rules() -> dict[Any, Callable[..., Any]]:
    """Give the rewrite of each pooling operator, as decompositions for ``torch.export``."""
    return {
        aten.avg_pool1d.default: _average(aten.avg_pool1d.default, 1),
        aten.avg_pool2d.default: _average(aten.avg_pool2d.default, 2),
        aten.avg_pool3d.default: _average(aten.avg_pool3d.default, 3),
        aten.max_pool2d_with_indices.default: _maximum(aten.max_pool2d_with_indices.default, 2),
        aten.max_pool3d_with_indices.default: _maximum(aten.max_pool3d_with_indices.default, 3),
    }


def _average(operator: Any, rank: int) -> Callable[..., Any]:
    def rule(
        x: torch.Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        kernel, pads = _spread(kernel_size, rank), _spread(padding, rank)
        strides = _spread(stride, rank) if stride else kernel
        if not ceil_mode and divisor_override is None:
            return NotImplemented
        if not _is_static(x, rank):
            return NotImplemented
        extra = [
            _ceil_extra(x.shape[axis - rank], kernel[axis], strides[axis], pads[axis])
            if ceil_mode
            else 0
            for axis in range(rank)
        ]
        area = 1
        for size in kernel:
            area *= size
        widths = _pad_widths(pads, extra)
        total = operator(aten.constant_pad_nd.default(x, widths, 0.0), kernel, strides, [0] * rank)
        if divisor_override is not None:
            return total * (area / divisor_override)
        # A window counts what lies in the input, or in the input and its declared padding.
        ones = torch.ones(
            [1] * (x.dim() - rank) + [int(size) for size in x.shape[-rank:]], dtype=x.dtype
        )
        declared = _pad_widths(pads, [0] * rank)
        ones = aten.constant_pad_nd.default(ones, declared, 1.0 if count_include_pad else 0.0)
        ones = aten.constant_pad_nd.default(ones, _pad_widths([0] * rank, extra), 0.0)
        return total / operator(ones, kernel, strides, [0] * rank)

    return rule


def _maximum(operator: Any, rank: int) -> Callable[..., Any]:
    def rule(
        x: torch.Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Any:
        kernel, pads = _spread(kernel_size, rank), _spread(padding, rank)
        strides = _spread(stride, rank) if stride else kernel
        steps = _spread(dilation, rank)
        if not ceil_mode:
            if stride:
                return NotImplemented
            return operator(x, kernel, strides, pads, steps, False)
        if not _is_static(x, rank):
            return NotImplemented
        extra = [
            _ceil_extra(x.shape[axis - rank], kernel[axis], strides[axis], pads[axis], steps[axis])
            for axis in range(rank)
        ]
        lowest = -float("inf") if x.dtype.is_floating_point else torch.iinfo(x.dtype).min
        padded = aten.constant_pad_nd.default(x, _pad_widths(pads, extra), lowest)
        return operator(padded, kernel, strides, (0,) * rank, steps, False)

    return rule


def _is_static(x: torch.Tensor, rank: int) -> bool:
    """Tell whether the pooled sizes are known; ``refusals`` names what is left otherwise."""
    return all(isinstance(size, int) for size in x.shape[-rank:])


def _spread(sizes: Sequence[int] | int, rank: int) -> tuple[int, ...]:
    values = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    return values * rank if len(values) == 1 else values


def _ceil_extra(size: int, kernel: int, stride: int, pad: int, step: int = 1) -> int:
    """Say how much padding on the right makes floor mode give what ceil mode gives."""
    reach = step * (kernel - 1) + 1
    count = -(-(size + 2 * pad - reach) // stride) + 1
    if (count - 1) * stride >= size + pad:
        count -= 1
    return max(0, (count - 1) * stride + reach - size - 2 * pad)


def _pad_widths(pads: Sequence[int], extra: Sequence[int]) -> list[int]:
    widths: list[int] = []
    for pad, more in zip(reversed(pads), reversed(extra), strict=True):
        widths += [pad, pad + more]
    return widths
