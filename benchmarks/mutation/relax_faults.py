"""Faults in a Relax module: one binding of ``main`` computes something else of the same type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax

from forge._tvm import constant, numpy_of
from forge.passes.bindings import bind, sequence, with_body

Change = Callable[[Any, np.random.Generator], Any]
_KINDS: dict[str, Change] = {}

_ACTIVATIONS = frozenset(
    f"relax.{name}"
    for name in (
        "nn.relu nn.gelu nn.gelu_tanh nn.silu nn.leakyrelu nn.prelu nn.softmax nn.relu6 clip tanh "
        "sigmoid exp erf sqrt abs"
    ).split()
)
_CONFUSED = {
    "relax.add": "relax.subtract",
    "relax.multiply": "relax.add",
    "relax.subtract": "relax.add",
    "relax.maximum": "relax.minimum",
    "relax.minimum": "relax.maximum",
    "relax.max": "relax.min",
    "relax.mean": "relax.sum",
    "relax.sum": "relax.max",
    "relax.tanh": "relax.sigmoid",
    "relax.sigmoid": "relax.tanh",
    "relax.nn.gelu": "relax.nn.silu",
    "relax.nn.silu": "relax.nn.relu",
    "relax.floor": "relax.ceil",
}


INPUTS, OUTPUTS = "inputs-swapped", "outputs-swapped"


@dataclass(frozen=True)
class Then:
    """A fault that takes two steps: the first value, and what is made of the variable it gets."""

    first: Any
    second: Callable[[Any], Any]


@dataclass(frozen=True, order=True)
class Site:
    """Where a fault may be: a kind, and which binding of ``main``."""

    kind: str
    binding: int


def kind(name: str) -> Callable[[Change], Change]:
    """Register a fault: a function of a call that gives what to compute instead, or None."""

    def register(change: Change) -> Change:
        _KINDS[name] = change
        return change

    return register


def sites(module: Any, seed: int = 0) -> Iterator[Site]:
    """Find every place in ``main`` where a fault of any kind can be."""
    if _swapped_inputs(module["main"]) is not None:
        yield Site(INPUTS, -1)
    for index, binding in enumerate(_bindings(module["main"])):
        for name in _KINDS:
            if _changed(binding, name, np.random.default_rng(seed)) is not None:
                yield Site(name, index)


def mutate(module: Any, site: Site, seed: int) -> Any:
    """Copy a module with the fault in it.

    Raises:
        LookupError: The fault cannot be there.
    """
    main = module["main"]
    if site.kind == INPUTS:
        swapped = _swapped_inputs(main)
        if swapped is None:
            raise LookupError("no two inputs are of one type")
        return _with_main(module, swapped)
    target = list(_bindings(main))[site.binding]
    value = _changed(target, site.kind, np.random.default_rng(seed))
    if value is None:
        raise LookupError(f"no {site.kind} at binding {site.binding}")
    blocks = [
        (
            block,
            [
                new
                for each in block.bindings
                for new in (_rebound(each, value) if each.same_as(target) else [each])
            ],
        )
        for block in main.body.blocks
    ]
    return _with_main(module, with_body(main, sequence(blocks, main.body.body, main.body)))


def _with_main(module: Any, main: Any) -> Any:
    mutated = module.clone()
    mutated.update_func(module.get_global_var("main"), main)
    return mutated


def _swapped_inputs(main: Any) -> Any:
    """Let the first two inputs of one type change places; None where there are no such two."""
    params = list(main.params)
    for first in range(len(params)):
        for second in range(first + 1, len(params)):
            if tvm_ffi.structural_equal(params[first].ty, params[second].ty):
                params[first], params[second] = params[second], params[first]
                return relax.Function(
                    params, main.body, main.ret_ty, main.is_pure, main.attrs, main.span
                )
    return None


def _rebound(binding: Any, value: Any) -> list[Any]:
    if not isinstance(value, Then):
        return [bind(binding, value)]
    var = type(binding.var)(f"{binding.var.name}_whole", value.first.ty)
    second = relax.BlockBuilder().normalize(value.second(var))
    return [relax.VarBinding(var, value.first), bind(binding, second)]


def _bindings(function: Any) -> list[Any]:
    return [b for block in function.body.blocks for b in block.bindings]


def _changed(binding: Any, name: str, generator: np.random.Generator) -> Any:
    call = binding.value
    is_operator = isinstance(call, tvm.ir.Call) and isinstance(call.op, tvm.ir.Op)
    if not is_operator and not (isinstance(call, tvm.ir.Tuple) and name == OUTPUTS):
        return None
    if is_operator and name == OUTPUTS:
        return None
    value = _KINDS[name](call, generator)
    if value is None or isinstance(value, Then):
        return value
    try:
        built = isinstance(value, tvm.ir.Call | tvm.ir.Tuple)
        typed = relax.BlockBuilder().normalize(value) if built else value
    except Exception:  # what Relax itself would refuse is no silent fault
        return None
    if not tvm_ffi.structural_equal(typed.ty, binding.var.ty):
        return None
    return typed


def _with_args(call: Any, args: list[Any]) -> Any:
    return tvm.ir.Call(call.op, args, call.attrs, call.ty_args)


def _constants(call: Any, kinds: str) -> list[int]:
    return [
        index
        for index, arg in enumerate(call.args)
        if isinstance(arg, tvm.ir.GenericConst) and numpy_of(arg).dtype.kind in kinds
    ]


def _with_constant(call: Any, kinds: str, change: Callable[[np.ndarray], np.ndarray | None]) -> Any:
    """Change the largest constant argument of a call."""
    found = _constants(call, kinds)
    if not found:
        return None
    index = max(found, key=lambda i: numpy_of(call.args[i]).size)
    array = numpy_of(call.args[index])
    wrong = change(array.copy())
    if wrong is None or np.array_equal(wrong, array):
        return None
    args = list(call.args)
    args[index] = constant(wrong.astype(array.dtype))
    return _with_args(call, args)


@kind("weight-element")
def _weight_element(call: Any, generator: np.random.Generator) -> Any:
    """One element takes the value of another one, of the other sign."""

    def change(array: np.ndarray) -> np.ndarray | None:
        if array.size < 2:
            return None
        flat = array.reshape(-1)
        here, there = generator.choice(flat.size, 2, replace=False)
        flat[here] = -flat[there]
        return array

    return _with_constant(call, "f", change)


@kind("weight-channel-lost")
def _weight_channel(call: Any, generator: np.random.Generator) -> Any:
    def change(array: np.ndarray) -> np.ndarray | None:
        if not array.ndim or array.shape[0] < 2:
            return None
        array[generator.integers(array.shape[0])] = 0
        return array

    return _with_constant(call, "f", change)


@kind("weight-transposed")
def _weight_transposed(call: Any, generator: np.random.Generator) -> Any:
    def change(array: np.ndarray) -> np.ndarray | None:
        if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
            return None
        return np.ascontiguousarray(array.swapaxes(-1, -2))

    return _with_constant(call, "f", change)


@kind("weight-rolled")
def _weight_rolled(call: Any, generator: np.random.Generator) -> Any:
    """Every element stands one place further, as after an offset that is one too large."""
    return _with_constant(call, "f", lambda array: np.roll(array, 1) if array.size > 1 else None)


@kind("index-shifted")
def _index_shifted(call: Any, generator: np.random.Generator) -> Any:
    """Indices are one too small, as where counting begins at 1; the first stays."""
    if call.op.name.rpartition(".")[2] not in ("take", "gather_elements", "gather_nd"):
        return None
    return _with_constant(call, "i", lambda array: np.maximum(array - 1, 0))


@kind("negative-index-clamped")
def _negative_index(call: Any, generator: np.random.Generator) -> Any:
    if call.op.name.rpartition(".")[2] not in ("take", "gather_elements", "gather_nd"):
        return None
    return _with_constant(call, "i", lambda array: np.maximum(array, 0))


@kind("bias-dropped")
def _bias_dropped(call: Any, generator: np.random.Generator) -> Any:
    """What is added by broadcasting, as a bias is, is left out."""
    if call.op.name != "relax.add":
        return None
    whole = [arg for arg in call.args if tvm_ffi.structural_equal(arg.ty, call.ty)]
    return whole[0] if len(whole) == 1 else None


@kind("activation-lost")
def _activation_lost(call: Any, generator: np.random.Generator) -> Any:
    return call.args[0] if call.op.name in _ACTIVATIONS else None


@kind("operands-swapped")
def _operands_swapped(call: Any, generator: np.random.Generator) -> Any:
    if call.op.name not in ("relax.subtract", "relax.divide", "relax.power", "relax.matmul"):
        return None
    return _with_args(call, [call.args[1], call.args[0]])


@kind("operator-confused")
def _operator_confused(call: Any, generator: np.random.Generator) -> Any:
    other = _CONFUSED.get(call.op.name)
    if other is None:
        return None
    return tvm.ir.Call(tvm.ir.Op.get(other), call.args, call.attrs, call.ty_args)


@kind("element-lost")
def _element_lost(call: Any, generator: np.random.Generator) -> Any:
    """The last element along the last axis is 0, as after a loop whose tail is cut off."""
    if not call.op.name.startswith("relax.nn.") and call.op.name != "relax.matmul":
        return None
    if not isinstance(call.ty, relax.TensorType) or str(call.ty.dtype) != "float32":
        return None
    shape = call.ty.shape
    if not isinstance(shape, relax.ShapeExpr) or not len(shape.values):
        return None
    last = shape.values[-1]
    if not isinstance(last, tvm.tirx.IntImm) or int(last) < 2:
        return None
    mask = np.ones(int(last), "float32")
    mask[-1] = 0
    return Then(call, lambda whole: relax.op.multiply(whole, constant(mask)))


@kind("half-precision")
def _half_precision(call: Any, generator: np.random.Generator) -> Any:
    """A weight was kept in float16 on its way."""
    return _with_constant(
        call,
        "f",
        lambda array: (
            array.astype(np.float16).astype(array.dtype) if array.dtype == np.float32 else None
        ),
    )


@kind(OUTPUTS)
def _outputs_swapped(values: Any, generator: np.random.Generator) -> Any:
    fields = list(values.fields)
    for first in range(len(fields)):
        for second in range(first + 1, len(fields)):
            same = fields[first].same_as(fields[second])
            if not same and tvm_ffi.structural_equal(fields[first].ty, fields[second].ty):
                fields[first], fields[second] = fields[second], fields[first]
                return relax.Tuple(fields)
    return None
