"""Elementwise operators on one dtype, as torch computes them, with every cast written out.

TVM's converters turn a Python number into the dtype of the tensor beside it (``ints * 0.5``
multiplies by 0), ignore ``alpha`` of add and sub, divide integers as integers and let a
scalar tensor widen a whole one. Measured on apache-tvm 0.27.0.post1.

See https://github.com/apache/tvm/pull/20372.
See https://github.com/apache/tvm/pull/20373.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as KIND
from torch._prims_common import elementwise_dtypes

aten = torch.ops.aten
Rule = Callable[..., Any]

_DEFAULT = (
    aten.add.Tensor,
    aten.sub.Tensor,
    aten.mul.Tensor,
    aten.add.Scalar,
    aten.sub.Scalar,
    aten.mul.Scalar,
    aten.maximum.default,
    aten.minimum.default,
    aten.remainder.Tensor,
    aten.remainder.Scalar,
    aten.fmod.Tensor,
    aten.fmod.Scalar,
)
_TO_FLOAT = (
    aten.div.Tensor,
    aten.div.Scalar,
    aten.atan2.default,
    aten.acos.default,
    aten.acosh.default,
    aten.asin.default,
    aten.asinh.default,
    aten.atan.default,
    aten.atanh.default,
    aten.cos.default,
    aten.cosh.default,
    aten.sin.default,
    aten.sinh.default,
    aten.tan.default,
    aten.tanh.default,
    aten.erf.default,
    aten.exp.default,
    aten.expm1.default,
    aten.log.default,
    aten.log2.default,
    aten.log10.default,
    aten.log1p.default,
    aten.reciprocal.default,
    aten.rsqrt.default,
    aten.sqrt.default,
    aten.sigmoid.default,
)
_POWER = (aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar)
_COMPARISONS = tuple(
    getattr(getattr(aten, name), overload)
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
    for overload in ("Tensor", "Scalar")
)
_SAME = (aten.gelu.default, aten.leaky_relu.default)


def rules() -> dict[Any, Rule]:
    """Give the rewrite of each elementwise operator, as decompositions for ``torch.export``."""
    table: dict[Any, Rule] = {aten.where.self: _where}
    for kind, operators in (
        (KIND.DEFAULT, (*_DEFAULT, *_SAME)),
        (KIND.INT_TO_FLOAT, _TO_FLOAT),
        (KIND.BOOL_TO_LONG, _POWER),
        (KIND.ALWAYS_BOOL, _COMPARISONS),
    ):
        table |= {operator: _promoting(operator, kind) for operator in operators}
    table[aten.div.Tensor_mode] = _divide_rounding
    table[aten.pow.Tensor_Tensor] = _power(table[aten.pow.Tensor_Tensor])
    table[aten.pow.Tensor_Scalar] = _power(table[aten.pow.Tensor_Scalar])
    return table


def _promoting(operator: Any, kind: KIND) -> Rule:
    boolean = {
        aten.add.Tensor: aten.logical_or.default,
        aten.mul.Tensor: aten.logical_and.default,
        aten.maximum.default: aten.logical_or.default,
        aten.minimum.default: aten.logical_and.default,
    }.get(operator)

    def rule(*args: Any, **kwargs: Any) -> Any:
        alpha = kwargs.pop("alpha", 1)
        operands = args if operator not in _SAME else args[:1]
        compute, result = elementwise_dtypes(*operands, type_promotion_kind=kind)
        if compute == torch.bool and boolean is not None and len(args) == 2:
            return boolean(*(_tensor(arg, compute) for arg in args))
        if compute == torch.bool and kind is KIND.ALWAYS_BOOL:
            # LLVM refuses to compare booleans ("Invalid operand types for FCmp").
            return operator(_tensor(args[0], torch.int8), _number(args[1]))
        if alpha != 1:
            scaled = aten.mul.Tensor(args[1], alpha) if _is_tensor(args[1]) else args[1] * alpha
            return operator(args[0], scaled, **kwargs)
        if not any(_needs_cast(arg, compute) for arg in operands):
            return NotImplemented
        cast = [_cast(arg, compute) for arg in operands]
        value = operator(*cast, *args[len(operands) :], **kwargs)
        return value if kind is KIND.ALWAYS_BOOL else value.to(result)

    return rule


def _where(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> Any:
    _, result = elementwise_dtypes(x, y, type_promotion_kind=KIND.DEFAULT)
    if condition.dtype == torch.bool and x.dtype == result and y.dtype == result:
        return NotImplemented
    return aten.where.self(condition.to(torch.bool), x.to(result), y.to(result))


def _divide_rounding(x: Any, y: Any, *, rounding_mode: str | None = None) -> Any:
    compute, result = elementwise_dtypes(x, y, type_promotion_kind=KIND.DEFAULT)
    if rounding_mode is None:
        return aten.div.Tensor(x, y)
    tensors = [_tensor(arg, compute) for arg in (x, y)]
    if compute.is_floating_point:
        # torch's own definition, which differs from floor(x / y) by one at the edges.
        quotient = aten.div.Tensor(*tensors)
        if rounding_mode == "trunc":
            return aten.trunc.default(quotient).to(result)
        rest = aten.fmod.Tensor(*tensors)
        exact = aten.div.Tensor(tensors[0] - rest, tensors[1])
        borrow = (rest != 0) & ((tensors[1] < 0) != (rest < 0))
        exact = torch.where(borrow, exact - 1, exact)
        whole = aten.floor.default(exact)
        whole = torch.where(exact - whole > 0.5, whole + 1, whole)
        signed_zero = torch.where(tensors[1] == 0, quotient, whole)
        return signed_zero.to(result)
    if all(_is_tensor(arg) and arg.dtype == compute for arg in (x, y)):
        return NotImplemented
    return aten.div.Tensor_mode(*tensors, rounding_mode=rounding_mode).to(result)


def _power(promote: Rule) -> Rule:
    def rule(base: Any, exponent: Any) -> Any:
        if isinstance(exponent, int) and base.dtype.is_floating_point and 1 < exponent <= 4:
            product = base
            for _ in range(exponent - 1):
                product = aten.mul.Tensor(product, base)
            return product
        return promote(base, exponent)

    return rule


def _number(value: Any) -> Any:
    return value.to(torch.int8) if _is_tensor(value) else int(value)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _needs_cast(value: Any, dtype: torch.dtype) -> bool:
    if _is_tensor(value):
        return bool(value.dtype != dtype)
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if _is_tensor(value):
        return value.to(dtype)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return _tensor(value, dtype)
    return value


def _tensor(value: Any, dtype: torch.dtype) -> torch.Tensor:
    if _is_tensor(value):
        tensor: torch.Tensor = value.to(dtype)
        return tensor
    return torch.full((), value, dtype=dtype)
