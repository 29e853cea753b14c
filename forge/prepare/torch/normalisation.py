"""Layer, group and instance norm with the variance taken around the mean.

TVM takes it as E[x^2] - E[x]^2, which cancels where the mean is large against the spread: of
[80000..80003] in float32, group and instance norm are NaN (measured with 0.27.0.post1), and layer
norm was wrong in older releases. Batch norm in eval mode is left alone.

See https://github.com/apache/tvm/issues/19592.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

Triple = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def layer_norm(
    x: torch.Tensor,
    normalized_shape: Sequence[int],
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
) -> Triple:
    """Normalise over the last dimensions; also gives mean and reciprocal deviation."""
    axes = list(range(x.dim() - len(normalized_shape), x.dim()))
    value, mean, scale = _normalise(_wide(x), axes, eps)
    return _affine(value, weight, bias).to(x.dtype), mean, scale


def group_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    batch: Any,
    channels: int,
    _area: Any,
    groups: int,
    eps: float,
) -> Triple:
    """Normalise each group of channels over itself and all spatial dimensions."""
    grouped = _wide(x).reshape(batch, groups, channels // groups, *x.shape[2:])
    value, mean, scale = _normalise(grouped, list(range(2, grouped.dim())), eps)
    value = value.reshape(x.shape)
    shape = (1, channels, *(1,) * (x.dim() - 2))
    weight = None if weight is None else weight.reshape(shape)
    bias = None if bias is None else bias.reshape(shape)
    return (
        _affine(value, weight, bias).to(x.dtype),
        mean.reshape(batch, groups),
        scale.reshape(batch, groups),
    )


def batch_norm_of_batch(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Triple:
    """Normalise each channel over the batch, as norms without running statistics do."""
    value, mean, scale = _normalise(_wide(x), [0, *range(2, x.dim())], eps)
    shape = (1, x.shape[1], *(1,) * (x.dim() - 2))
    weight = None if weight is None else weight.reshape(shape)
    bias = None if bias is None else bias.reshape(shape)
    value = _affine(value, weight, bias).to(x.dtype)
    return value, mean.reshape(x.shape[1]), scale.reshape(x.shape[1])


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x


def _normalise(x: torch.Tensor, axes: list[int], eps: float) -> Triple:
    mean = x.mean(axes, keepdim=True)
    centred = x - mean
    scale = torch.rsqrt((centred * centred).mean(axes, keepdim=True) + eps)
    return centred * scale, mean, scale


def _affine(
    value: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None
) -> torch.Tensor:
    if weight is not None:
        value = value * weight
    return value if bias is None else value + bias
