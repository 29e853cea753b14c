"""Indexing said without negative indices, masks and gaps, which TVM's converters misread.

``take`` reads out of bounds on a negative index; several index tensors with a full slice
beside them are applied one after the other, an outer product where torch pairs them.
Measured on apache-tvm 0.27.0.post1; the same kind of fault as apache/tvm issue 20217.

See https://github.com/apache/tvm/issues/20217.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

aten = torch.ops.aten


def select(x: torch.Tensor, dim: int, index: Any) -> Any:
    """Select with a non-negative index."""
    size = x.shape[dim]
    if isinstance(index, int) and index >= 0:
        return NotImplemented
    if isinstance(index, int) and isinstance(size, int):
        return aten.select.int(x, dim, index + size)
    place = index + size if isinstance(index, int) else index
    return aten.slice.Tensor(x, dim, place, place + 1).squeeze(dim)


def slice_tensor(
    x: torch.Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """Slice a static dimension with bounds inside it."""
    size = x.shape[dim]
    if not all(bound is None or isinstance(bound, int) for bound in (start, end)):
        return NotImplemented
    if not isinstance(size, int):
        if isinstance(end, int) and end < 0:
            return aten.slice.Tensor(x, dim, start, size + end, step)
        if isinstance(start, int) and start < 0:
            return aten.slice.Tensor(x, dim, size + start, end, step)
        return NotImplemented
    first, last, _ = slice(start, end, step).indices(size)
    last = max(first, last)
    if (start, end) == (first, last):
        return NotImplemented
    return aten.slice.Tensor(x, dim, first, last, step)


def index(x: torch.Tensor, indices: list[torch.Tensor | None]) -> Any:
    """Index with tensors, as one ``index_select`` on the flattened indexed dimensions.

    A mask, which makes a shape depend on values, is left for ``refusals``.
    """
    if _has_mask(indices):
        return NotImplemented
    dims = [dim for dim, tensor in enumerate(indices) if tensor is not None]
    tensors = [tensor for tensor in indices if tensor is not None]
    kept = [dim for dim in range(x.dim()) if dim not in dims]
    linear, shape = _linear_index(x, dims, tensors)
    size = math.prod(x.shape[dim] for dim in dims)
    flat = x.permute(*dims, *kept).reshape(size, *(x.shape[dim] for dim in kept))
    taken = aten.index_select.default(flat, 0, linear.reshape(-1))
    taken = taken.reshape(*shape, *(x.shape[dim] for dim in kept))
    position = _result_position(dims)
    order = [
        *range(len(shape), len(shape) + position),
        *range(len(shape)),
        *range(len(shape) + position, taken.dim()),
    ]
    return taken.permute(order) if position else taken


def index_put(
    x: torch.Tensor,
    indices: list[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
) -> Any:
    """Write at indices, as one scatter into the flattened tensor; a mask becomes ``where``."""
    dims = [dim for dim, tensor in enumerate(indices) if tensor is not None]
    tensors = [tensor for tensor in indices if tensor is not None]
    first = tensors[0]
    if len(tensors) == 1 and first.dtype == torch.bool and values.numel() == 1 and not accumulate:
        mask = first.reshape(*first.shape, *(1,) * (x.dim() - dims[0] - first.dim()))
        return torch.where(mask, values.reshape(()).to(x.dtype), x)
    if _has_mask(indices):
        return NotImplemented
    kept = [dim for dim in range(x.dim()) if dim not in dims]
    linear, shape = _linear_index(x, dims, tensors)
    rest = [x.shape[dim] for dim in kept]
    width = math.prod(rest)
    position = _result_position(dims)
    full = values.expand(*rest[:position], *shape, *rest[position:])
    order = [
        *range(position, position + len(shape)),
        *range(position),
        *range(position + len(shape), full.dim()),
    ]
    source = full.permute(order).reshape(-1)
    offsets = torch.arange(width, dtype=torch.int64, device=x.device)
    where = (linear.reshape(-1, 1) * width + offsets).reshape(-1)
    flat = x.permute(*dims, *kept).reshape(-1)
    scatter = aten.scatter_add.default if accumulate else aten.scatter.src
    written = scatter(flat, 0, where, source)
    moved = written.reshape([x.shape[dim] for dim in (*dims, *kept)])
    inverse = [(*dims, *kept).index(dim) for dim in range(x.dim())]
    return moved.permute(inverse)


def scatter(x: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> Any:
    """Scatter a source of the index's own shape; torch ignores what lies beyond it."""
    cropped = _crop(src, index)
    return NotImplemented if cropped is src else aten.scatter.src(x, dim, index, cropped)


def scatter_add(x: torch.Tensor, dim: int, index: torch.Tensor, src: torch.Tensor) -> Any:
    """Add at indices a source of the index's own shape."""
    cropped = _crop(src, index)
    return NotImplemented if cropped is src else aten.scatter_add.default(x, dim, index, cropped)


def unfold(x: torch.Tensor, dim: int, size: int, step: int) -> torch.Tensor:
    """Take overlapping windows of a dimension, appended as a last one."""
    if x.dim() == 0:
        return x.reshape(1)
    dim = dim % x.dim()
    count = (x.shape[dim] - size) // step + 1
    starts = torch.arange(count, dtype=torch.int64) * step
    places = (starts[:, None] + torch.arange(size, dtype=torch.int64)).reshape(-1)
    taken = aten.index_select.default(x, dim, places)
    taken = taken.reshape(*x.shape[:dim], count, size, *x.shape[dim + 1 :])
    return taken.movedim(dim + 1, -1)


def repeat(x: torch.Tensor, repeats: Sequence[Any]) -> Any:
    """Tile a symbolic number of times, which TVM's ``tile`` cannot; instance norm does."""
    if all(isinstance(count, int) for count in repeats):
        return NotImplemented
    sizes = [1] * (len(repeats) - x.dim()) + list(x.shape)
    spread = [size for pair in zip(repeats, sizes, strict=True) for size in pair]
    once = x.reshape([size for pair in zip([1] * len(sizes), sizes, strict=True) for size in pair])
    return once.expand(spread).reshape(
        [count * size for count, size in zip(repeats, sizes, strict=True)]
    )


def _crop(src: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    for axis, (have, want) in enumerate(zip(src.shape, index.shape, strict=True)):
        if have != want:
            src = src.narrow(axis, 0, want)
    return src


def _has_mask(indices: Sequence[torch.Tensor | None]) -> bool:
    return any(t is not None and t.dtype in (torch.bool, torch.uint8) for t in indices)


def _linear_index(
    x: torch.Tensor, dims: list[int], tensors: list[torch.Tensor]
) -> tuple[torch.Tensor, torch.Size]:
    linear: Any = None
    for dim, tensor in zip(dims, tensors, strict=True):
        size = x.shape[dim]
        plain = tensor.to(torch.int64)
        plain = torch.where(plain < 0, plain + size, plain)
        linear = plain if linear is None else linear * size + plain
    return linear, linear.shape


def _result_position(dims: list[int]) -> int:
    """Tell how many kept dimensions stand before the indexed ones in the result."""
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    return dims[0] if together else 0
