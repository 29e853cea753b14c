"""Follow constant scales and shifts from a layer, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import tvm

from forge._tvm import dims_of
from forge.passes.affine import (
    BATCH_NORM,
    Affine,
    identity,
    is_call,
    is_elementwise,
    is_float_cast,
    read_batch_norm,
    read_elementwise,
)
from forge.passes.bindings import handle
from forge.passes.layers import Layer, NotFoldable
from forge.passes.scope import Scope

Note = Callable[[Any, str], None]


@dataclass(frozen=True)
class Chain:
    """Consecutive maps, each the only reader of the one before.

    Attributes:
        affine: What they do together.
        end: The variable at the end that is not the layer's.
        norms: The bindings of the batch norms among them.
        operators: What the others are, each with its variable.
        scales: One of the others multiplies by a vector, as a batch norm taken apart does.
    """

    affine: Affine
    end: Any
    norms: tuple[Any, ...] = ()
    operators: tuple[str, ...] = ()
    scales: bool = False

    @property
    def worthwhile(self) -> bool:
        """Tell whether they are more than a bias or a scalar factor."""
        return bool(self.norms) or self.scales


def after_layer(scope: Scope, layer: Layer, var: Any, note: Note) -> Chain | None:
    """Follow the maps that read a layer's result, as far as they go.

    A cast at the end is left out unless it leads back to the layer's own dtype.

    Args:
        note: Called with the binding of a batch norm that ends the chain, and the reason.
    """
    chain = Chain(identity(layer.outputs), var)
    kept: Chain | None = None
    dtype = str(layer.call.ty.dtype)
    while True:
        reader = scope.only_reader(chain.end)
        if reader is None:
            _note_shared(scope, chain.end, note)
            return kept
        step = _step(scope, reader, chain.end, layer.output_axis, layer.outputs, note)
        if step is None:
            return kept
        chain = Chain(
            chain.affine.then(step.affine),
            step.end,
            chain.norms + step.norms,
            chain.operators + step.operators,
            chain.scales or step.scales,
        )
        if not is_float_cast(reader.value) or str(chain.end.ty.dtype) == dtype:
            kept = chain


def before_layer(scope: Scope, layer: Layer, note: Note) -> list[Chain]:
    """Follow the maps that lead to a layer's data, the longest worthwhile chain first.

    Args:
        note: Called with the binding of a batch norm that ends the chain, and the reason.
    """
    chain = Chain(identity(layer.inputs), layer.data)
    found: list[Chain] = []
    dtype = str(layer.data.ty.dtype)
    while isinstance(chain.end, tvm.ir.Var):
        step = _step_back(scope, chain.end, layer, note)
        if step is None:
            break
        chain = Chain(
            step.affine.then(chain.affine),
            step.end,
            step.norms + chain.norms,
            step.operators + chain.operators,
            chain.scales or step.scales,
        )
        if chain.worthwhile and str(chain.end.ty.dtype) == dtype:
            found.insert(0, chain)
    return found


def leads_to(scope: Scope, call: Any) -> bool:
    """Tell cheaply whether a map may precede a layer."""
    for data in call.args:
        value = scope.value(data) if isinstance(data, tvm.ir.Var) else None
        if isinstance(value, tvm.ir.TupleGetItem) or is_elementwise(value) or is_float_cast(value):
            return True
    return False


def _step_back(scope: Scope, var: Any, layer: Layer, note: Note) -> Chain | None:
    value = scope.value(var)
    shared = len(scope.readers(var)) != 1
    if isinstance(value, tvm.ir.TupleGetItem) and isinstance(value.tuple_value, tvm.ir.Var):
        norm = scope.binding(value.tuple_value)
        if norm is None or not is_call(norm.value, BATCH_NORM) or int(value.index) != 0:
            return None
        if shared:
            note(norm, f"its result {var.name} has another reader")
            return None
        data = norm.value.args[0]
        step = _step(scope, norm, data, layer.input_axis, layer.inputs, note)
        return None if step is None else replace(step, end=data)
    if shared or value is None:
        return None
    binding = scope.binding(var)
    for data in getattr(value, "args", ()):
        if isinstance(data, tvm.ir.Var) and scope.constants.array(data) is None:
            step = _step(scope, binding, data, layer.input_axis, layer.inputs, note)
            return None if step is None else replace(step, end=data)
    return None


def _step(
    scope: Scope, binding: Any, data: Any, axis: int, channels: int, note: Note
) -> Chain | None:
    """Read one binding as a map of ``data``; the chain's end is the variable of its result."""
    value = scope.value(binding.var)
    if is_call(value, BATCH_NORM):
        return _norm(scope, binding, data, axis, channels, note)
    name = f"{value.op.name.rpartition('.')[2]} {binding.var.name}" if is_elementwise(value) else ""
    if name and _same_shape(binding.var, data):
        affine = read_elementwise(value, data, axis, channels, scope.constants.array)
        if affine is not None:
            return Chain(affine, binding.var, (), (name,), affine.per_channel)
    if is_float_cast(value):
        return Chain(identity(channels), binding.var)
    return None


def _same_shape(result: Any, data: Any) -> bool:
    """Tell whether a map keeps its data's shape; one that broadcasts it makes new elements."""
    dims = dims_of(data.ty)
    return dims is not None and dims == dims_of(result.ty)


def _norm(
    scope: Scope, binding: Any, data: Any, axis: int, channels: int, note: Note
) -> Chain | None:
    if not binding.value.args[0].same_as(data):
        return None
    result = scope.normalized(binding.var)
    if result is None:
        note(binding, "its mean or variance output is used")
        return None
    try:
        affine = read_batch_norm(binding.value, axis, channels, scope.constants.array)
    except NotFoldable as reason:
        note(binding, str(reason))
        return None
    return Chain(affine, result, (binding,))


def _note_shared(scope: Scope, var: Any, note: Note) -> None:
    for reader in scope.readers(var):
        if reader is not None and is_call(reader.value, BATCH_NORM):
            note(reader, f"{var.name} before it has another reader")


def norms_near(scope: Scope, var: Any, call: Any) -> list[Any]:
    """List the batch norms that read a layer's result, or make its data, directly or biased."""
    near: dict[int, Any] = {}
    for reader in scope.readers(var):
        if reader is None:
            continue
        second = scope.readers(reader.var) if is_elementwise(reader.value) else []
        for candidate in (reader, *second):
            if candidate is not None and is_call(candidate.value, BATCH_NORM):
                near[handle(candidate.var)] = candidate
    for data in call.args:
        value = scope.value(data) if isinstance(data, tvm.ir.Var) else None
        if isinstance(value, tvm.ir.TupleGetItem) and isinstance(value.tuple_value, tvm.ir.Var):
            candidate = scope.binding(value.tuple_value)
            if candidate is not None and is_call(candidate.value, BATCH_NORM):
                near[handle(candidate.var)] = candidate
    return list(near.values())
