"""Merge chains of scales and shifts into the weights of the layers beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from forge import _tvm
from forge.evaluate.values import numpy_dtype
from forge.passes.bindings import Call, Op, handle
from forge.passes.chains import Chain, after_layer, before_layer, leads_to, norms_near
from forge.passes.layers import Layer, NotFoldable, find_layer
from forge.passes.scope import Scope


class Merger:
    """Merges the batch norms of one function after another.

    Attributes:
        count: How many batch norms, or what frameworks made of them, were merged.
        details: A line for every batch norm, and for every other chain that was merged.
    """

    def __init__(self) -> None:
        self.count = 0
        self.details: list[str] = []
        self._fates: dict[int, str] = {}
        self._reasons: dict[int, list[str]] = {}

    def function(self, function: Any) -> Any:
        """Merge what can be merged in one Relax function; unused bindings stay behind."""
        self._fates, self._reasons = {}, {}
        scope = Scope(function)
        if not scope.layers and not scope.norms:
            return function
        moved = [self._after(scope, var) for var in scope.layers]
        for var in moved:
            self._before(scope, var)
        for binding in scope.norms:
            self.details.append(self._fate(binding))
        return scope.rebuilt(function)

    def _fate(self, norm: Any) -> str:
        key, name = handle(norm.var), f"batch_norm {norm.var.name}"
        if key in self._fates:
            return f"{name}: {self._fates[key]}"
        reasons = self._reasons.get(key) or ["no layer with a constant weight is next to it"]
        if norm.value.attrs.training:
            reasons = ["it is in training mode"]
        return f"{name}: left, because {'; '.join(dict.fromkeys(reasons))}"

    def _note(self, norm: Any, reason: str) -> None:
        self._reasons.setdefault(handle(norm.var), []).append(reason)

    def _merged(self, chain: Chain, layer: Layer, var: Any) -> None:
        into = f"folded into {_describe(layer.call, var)}"
        self.count += len(chain.norms) or 1
        for norm in chain.norms:
            self._fates[handle(norm.var)] = into
        if not chain.norms:
            self.details.append(f"{', '.join(chain.operators)}: {into}")

    def _layer(self, scope: Scope, var: Any, norms: list[Any]) -> Layer | None:
        call = scope.value(var)
        try:
            return find_layer(call, scope.constants.array)
        except NotFoldable as reason:
            for norm in norms:
                self._note(norm, f"{_describe(call, var)} cannot take it: {reason}")
            return None

    def _after(self, scope: Scope, var: Any) -> Any:
        """Merge what follows a layer; give the variable that the layer is bound to then."""
        norms = norms_near(scope, var, scope.value(var))
        reader = scope.only_reader(var)
        if reader is None:
            for norm in norms:
                self._note(norm, f"{_describe(scope.value(var), var)} has another reader")
            return var
        layer = self._layer(scope, var, norms)
        if layer is None:
            return var
        chain = after_layer(scope, layer, var, self._note)
        if chain is None or not chain.worthwhile:
            return var
        try:
            weight = _weight(layer, layer.scaled_outputs(chain.affine.scale))
            call = layer.rebuilt(weight)
        except NotFoldable as reason:
            for norm in chain.norms:
                self._note(norm, str(reason))
            return var
        self._merged(chain, layer, var)
        scale = chain.affine.scale
        scope.constants.remember(weight, lambda: layer.scaled_outputs(scale))
        return _attach(scope, layer, call, var, chain.end, chain.affine.shift)

    def _before(self, scope: Scope, var: Any) -> None:
        """Merge what precedes a layer."""
        if not leads_to(scope, scope.value(var)):
            return
        layer = self._layer(scope, var, norms_near(scope, var, scope.value(var)))
        if layer is None:
            return
        for chain in before_layer(scope, layer, self._note):
            try:
                response = layer.response(chain.affine.shift)
                weight = _weight(layer, layer.scaled_inputs(chain.affine.scale))
                call = layer.rebuilt(weight, chain.end)
            except NotFoldable as reason:
                for norm in chain.norms:
                    self._note(norm, f"{_describe(layer.call, var)} cannot take it: {reason}")
                continue
            self._merged(chain, layer, var)
            following = after_layer(scope, layer, var, lambda *_: None)
            if following is not None and np.all(following.affine.scale == 1.0):
                shift = response + following.affine.shift
                _attach(scope, layer, call, var, following.end, shift)
            else:
                _attach(scope, layer, call, var, var, response)
            return


def _attach(scope: Scope, layer: Layer, call: Any, var: Any, end: Any, shift: np.ndarray) -> Any:
    """Bind a rebuilt layer to ``var`` and its sum with a bias to ``end``, in its dtype.

    Returns:
        The variable that the layer is bound to: ``end`` itself where nothing is added.
    """
    steps: list[tuple[Any, list[Any], Any]] = []
    if str(call.ty.dtype) != str(end.ty.dtype):
        steps.append((Op.get("relax.astype"), [], _cast_attrs(str(end.ty.dtype))))
    if np.any(shift):
        steps.append((Op.get("relax.add"), [_bias(scope, layer, end.ty, shift)], None))
    if not steps:
        scope.replace(end, call)
        return end
    before: list[tuple[Any, Any]] = []
    place = var
    if end.same_as(var):
        place = scope.new_variable(var, f"{var.name}_unbiased", call.ty)
        before.append((place, call))
    else:
        scope.replace(var, call)
    data = place
    for operator, operands, attrs in steps[:-1]:
        after = scope.new_variable(end, f"{end.name}_unbiased", end.ty)
        before.append((after, Call(operator, [data, *operands], attrs, ret_ty=end.ty)))
        data = after
    operator, operands, attrs = steps[-1]
    scope.replace(end, Call(operator, [data, *operands], attrs, ret_ty=end.ty), tuple(before), data)
    return place


def _cast_attrs(dtype: str) -> Any:
    example = relax.Var("x", relax.TensorType((), "float64"))
    return relax.op.astype(example, dtype).attrs


def _weight(layer: Layer, exact: np.ndarray) -> Any:
    """Round a float64 weight once, to the dtype of the layer's own."""
    dtype = numpy_dtype(str(layer.call.args[layer.weight_index].ty.dtype))
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
    if not np.all(np.isfinite(rounded)) and np.all(np.isfinite(layer.weight)):
        raise NotFoldable(f"the scaled weight is beyond {dtype}")
    return _tvm.constant(rounded)


def _bias(scope: Scope, layer: Layer, value_type: Any, shift: np.ndarray) -> Any:
    rank = int(value_type.ndim)
    shape = [1] * rank
    shape[layer.output_axis] = len(shift)
    if layer.call.op.name == "relax.matmul":
        shape = shape[layer.output_axis :]
    exact = shift.reshape(shape)
    bias = _tvm.constant(exact.astype(numpy_dtype(str(value_type.dtype))))
    scope.constants.remember(bias, lambda: exact)
    return bias


def _describe(call: Any, var: Any) -> str:
    return f"{call.op.name.rpartition('.')[2]} {var.name}"
