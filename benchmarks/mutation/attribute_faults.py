"""Faults in the attributes of a Relax call: a pad, an axis, an order, a constant of a formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax

from benchmarks.mutation.relax_faults import Then, kind
from forge._tvm import dims_of


def _names(call: Any) -> list[str]:
    if call.attrs is None:
        return []
    return [field.name for field in type(call.attrs).__tvm_ffi_type_info__.fields]


def _with(call: Any, **changes: Any) -> Any:
    attributes = {name: getattr(call.attrs, name) for name in _names(call)} | changes
    type_key = type(call.attrs).__tvm_ffi_type_info__.type_key
    return tvm.ir.Call(call.op, call.args, tvm.ir.make_node(type_key, **attributes), call.ty_args)


def _has(call: Any, name: str) -> bool:
    return name in _names(call)


@kind("pad-shifted")
def _pad_shifted(call: Any, generator: np.random.Generator) -> Any:
    """Padding is one too large before and one too small after."""
    if not _has(call, "padding"):
        return None
    padding = [int(each) for each in call.attrs.padding]
    half = len(padding) // 2
    if half == 0 or len(padding) % 2 or not padding[half]:
        return None
    padding[0] += 1
    padding[half] -= 1
    return _with(call, padding=padding)


@kind("dilation-ignored")
def _dilation_ignored(call: Any, generator: np.random.Generator) -> Any:
    """The kernel is not spread, and the padding made up for it."""
    if not call.op.name.startswith("relax.nn.conv") or "transpose" in call.op.name:
        return None
    dilation = [int(each) for each in call.attrs.dilation]
    weight = dims_of(call.args[1].ty)
    if max(dilation) == 1 or weight is None:
        return None
    kernel = str(call.attrs.kernel_layout)
    spatial = [letter for letter in kernel if letter in "DHW"]
    padding = [int(each) for each in call.attrs.padding]
    for axis, letter in enumerate(spatial):
        taps = weight[kernel.index(letter)]
        surplus = (dilation[axis] - 1) * (int(taps) - 1)
        padding[axis] -= surplus // 2
        padding[axis + len(spatial)] -= surplus - surplus // 2
    if min(padding) < 0:
        return None
    return _with(call, padding=padding, dilation=[1] * len(dilation))


@kind("axis-confused")
def _axis_confused(call: Any, generator: np.random.Generator) -> Any:
    if not _has(call, "axis") or not isinstance(call.ty, relax.TensorType):
        return None
    axis = call.attrs.axis
    rank = len(dims_of(call.args[0].ty) or ()) if hasattr(call.args[0].ty, "shape") else 0
    if rank < 2 or axis is None or call.op.name == "relax.nn.batch_norm":
        return None
    if isinstance(axis, int | tvm.tirx.IntImm):
        return _with(call, axis=(int(axis) - 1) % rank)
    axes = [int(each) for each in axis]
    return _with(call, axis=[(axes[0] - 1) % rank, *axes[1:]]) if len(axes) == 1 else None


@kind("order-of-parts")
def _order_of_parts(call: Any, generator: np.random.Generator) -> Any:
    if call.op.name != "relax.concat" or not isinstance(call.args[0], tvm.ir.Tuple):
        return None
    fields = list(call.args[0].fields)
    if len(fields) < 2 or fields[0].same_as(fields[-1]):
        return None
    return tvm.ir.Call(call.op, [relax.Tuple(fields[::-1])], call.attrs, call.ty_args)


@kind("permutation-lost")
def _permutation_lost(call: Any, generator: np.random.Generator) -> Any:
    """Data is reshaped where it should be transposed."""
    if call.op.name != "relax.permute_dims":
        return None
    shape = dims_of(call.ty)
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return None
    return relax.op.reshape(call.args[0], shape)


@kind("epsilon-confused")
def _epsilon(call: Any, generator: np.random.Generator) -> Any:
    if not _has(call, "epsilon"):
        return None
    return _with(call, epsilon=0.1)


@kind("statistics-confused")
def _statistics(call: Any, generator: np.random.Generator) -> Any:
    """Batch norm takes gamma for its mean, and the mean for gamma."""
    if call.op.name != "relax.nn.batch_norm":
        return None
    data, gamma, beta, mean, variance = call.args
    return tvm.ir.Call(call.op, [data, mean, beta, gamma, variance], call.attrs, call.ty_args)


@kind("batch-norm-in-training")
def _training(call: Any, generator: np.random.Generator) -> Any:
    """Statistics are taken from the batch; for a batch of one that is an instance norm."""
    shape = dims_of(call.args[0].ty) if call.op.name == "relax.nn.batch_norm" else None
    if shape is None or len(shape) < 3 or shape[0] != 1 or int(call.attrs.axis) != 1:
        return None
    data, gamma, beta, mean, variance = call.args
    epsilon = float(call.attrs.epsilon)
    first = relax.op.nn.instance_norm(data, gamma, beta, 1, list(range(2, len(shape))), epsilon)
    return Then(
        relax.BlockBuilder().normalize(first),
        lambda result: relax.Tuple([result, mean, variance]),
    )


@kind("count-of-padding")
def _count_include_pad(call: Any, generator: np.random.Generator) -> Any:
    if "avg_pool" not in call.op.name or not _has(call, "count_include_pad"):
        return None
    if not any(int(each) for each in call.attrs.padding):
        return None
    return _with(call, count_include_pad=not bool(call.attrs.count_include_pad))
