"""Image resizing: TVM's ``resize2d`` where it agrees with torch, torch's own arithmetic elsewhere.

TVM's converters get plain nearest wrong at non-integer ratios, recompute a given ``scale_factor``
from the rounded sizes, and ignore ``antialias``.

Measured with TVM 0.27.0.post1.
See https://github.com/apache/tvm/issues/18365.
See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/torch/base_fx_graph_translator.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._decomp import decomposition_table

aten = torch.ops.aten

# These torch decomposes by itself into gathers and arithmetic.
_ALWAYS = (
    aten.upsample_nearest1d.vec,
    aten.upsample_nearest3d.vec,
    aten._upsample_nearest_exact1d.vec,
    aten._upsample_nearest_exact2d.vec,
    aten._upsample_nearest_exact3d.vec,
)


def rules() -> dict[Any, Callable[..., Any]]:
    """Give the rewrite of each resizing operator, as decompositions for ``torch.export``."""
    table = {operator: decomposition_table[operator] for operator in _ALWAYS}
    table[aten.upsample_nearest2d.vec] = _nearest
    table[aten.upsample_bilinear2d.vec] = _bilinear
    table[aten._upsample_bilinear2d_aa.default] = _antialiased
    return table


def _nearest(
    x: torch.Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Any:
    size = _exact_size(x, output_size, scale_factors)
    if size is not None and all(
        out % into == 0 for out, into in zip(size, x.shape[-2:], strict=True)
    ):
        return aten.upsample_nearest2d.default(x, size)
    return decomposition_table[aten.upsample_nearest2d.vec](x, output_size, scale_factors)


def _bilinear(
    x: torch.Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Any:
    size = _exact_size(x, output_size, scale_factors)
    if size is not None and x.dtype == torch.float32:
        return aten.upsample_bilinear2d.default(x, size, align_corners)
    return decomposition_table[aten.upsample_bilinear2d.vec](
        x, output_size, align_corners, scale_factors
    )


def _exact_size(
    x: torch.Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> list[int] | None:
    """Give the static output size when the scale is exactly output over input size."""
    sizes = x.shape[-2:]
    if not all(isinstance(size, int) for size in sizes):
        return None
    if output_size is not None:
        return list(output_size) if all(isinstance(size, int) for size in output_size) else None
    assert scale_factors is not None
    scaled = [size * scale for size, scale in zip(sizes, scale_factors, strict=True)]
    return [int(size) for size in scaled] if all(size == int(size) for size in scaled) else None


def _antialiased(
    x: torch.Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Any:
    """Resize with a triangle filter as wide as the scale, as two matrix products."""
    if not all(isinstance(size, int) for size in (*x.shape[-2:], *output_size)):
        return NotImplemented
    rows = _filter(int(x.shape[-2]), output_size[0], align_corners, scales_h)
    columns = _filter(int(x.shape[-1]), output_size[1], align_corners, scales_w)
    plain = x.to(torch.float32)
    resized = torch.matmul(torch.matmul(rows, plain), columns.transpose(0, 1))
    return resized.to(x.dtype)


def _filter(size: int, out: int, align_corners: bool, factor: float | None) -> torch.Tensor:
    if align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        scale = 1.0 / factor if factor else size / out
    centres = (torch.arange(out, dtype=torch.float32) + 0.5) * scale
    places = torch.arange(size, dtype=torch.float32) + 0.5
    distance = (places[None, :] - centres[:, None]).abs() / max(scale, 1.0)
    weights = (1.0 - distance).clamp(min=0.0)
    return weights / weights.sum(1, keepdim=True)
