"""Break a torch program down into operators that TVM's frontend converts right.

Each module beside this one says what TVM 0.27 gets wrong without it.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/torch/exported_program_translator.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table

from forge.prepare.torch import (
    accumulation,
    indexing,
    limits,
    normalisation,
    pooling,
    resize,
    type_promotion,
)
from forge.specs import Step

aten = torch.ops.aten

# torch's own decompositions, beyond its core set, of what TVM's converters get wrong
# (elu: scale ignored; grid_sampler_2d: grid layout) or lack.
_TORCH_OWN = (
    aten.elu.default,
    aten.grid_sampler_2d.default,
    aten.linalg_vector_norm.default,
    aten.var_mean.correction,
)


def own_rules() -> dict[Any, Callable[..., Any]]:
    """Give Forge's own decompositions by operator."""
    return {
        aten.select.int: indexing.select,
        aten.slice.Tensor: indexing.slice_tensor,
        aten.index.Tensor: indexing.index,
        aten.index_put.default: indexing.index_put,
        aten.scatter.src: indexing.scatter,
        aten.scatter_add.default: indexing.scatter_add,
        aten.repeat.default: indexing.repeat,
        aten.unfold.default: indexing.unfold,
        aten.native_layer_norm.default: normalisation.layer_norm,
        aten.native_group_norm.default: normalisation.group_norm,
        aten._native_batch_norm_legit.no_stats: normalisation.batch_norm_of_batch,
        aten.clamp.default: limits.clamp,
        aten.clamp.Tensor: limits.clamp,
        aten.clamp_min.default: lambda x, low: limits.clamp(x, min=low),
        aten.clamp_max.default: lambda x, high: limits.clamp(x, max=high),
        aten.hardtanh.default: limits.hardtanh,
        aten.addmm.default: _addmm,
        aten.baddbmm.default: _addmm,
        aten._convolution.default: _convolution,
        **type_promotion.rules(),
        **accumulation.rules(),
        **pooling.rules(),
        **resize.rules(),
    }


def decompose(program: Any) -> tuple[Any, Step]:
    """Run torch's core decompositions together with Forge's own.

    Args:
        program: A ``torch.export.ExportedProgram``; it is not changed.

    Returns:
        A new program and the operators that Forge's rules rewrote.
    """
    used: Counter[str] = Counter()
    table = torch.export.default_decompositions()
    for operator in _TORCH_OWN:
        table[operator] = _counted(operator, decomposition_table[operator], used)
    for operator, rule in own_rules().items():
        table[operator] = _counted(operator, rule, used)
    result = program.run_decompositions(table)
    return result, Step(
        "torch decompositions",
        "operators that TVM's torch frontend lacks or converts wrong are said in others",
        count=sum(used.values()),
        details=tuple(f"{name}: {count}" for name, count in sorted(used.items())),
    )


def _counted(operator: Any, rule: Callable[..., Any], used: Counter[str]) -> Callable[..., Any]:
    def counted(*args: Any, **kwargs: Any) -> Any:
        value = rule(*args, **kwargs)
        if value is not NotImplemented:
            used[str(operator)] += 1
        return value

    return counted


def _addmm(
    bias: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta: Any = 1, alpha: Any = 1
) -> torch.Tensor:
    """Say a product and a sum apart; factors of 1 would hide a layer from batch-norm folding."""
    product = torch.mm(left, right) if left.dim() == 2 else torch.bmm(left, right)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (bias if beta == 1 else bias * beta)


def _convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    *_flags: bool,
) -> torch.Tensor:
    """Drop the backend flags that TorchScript writes down."""
    result: torch.Tensor = aten.convolution.default(
        x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    return result
