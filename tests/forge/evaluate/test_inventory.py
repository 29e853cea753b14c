from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tvm import relax, topi
from tvm.relax import op

from forge.evaluate import NotEvaluable, evaluate_function, unknown_operators

VECTOR = relax.TensorType((4,), "float32")


def sorted_by_library(builder: Any, x: Any) -> Any:
    return builder.emit_te(topi.sort, x)


def test_all_that_main_reaches_is_listed_at_once() -> None:
    builder = relax.BlockBuilder()
    x, y, z = (relax.Var(name, VECTOR) for name in "xyz")
    with builder.function("unused", [z]):
        builder.emit_func_output(builder.emit(relax.call_pure_packed("unused", z, ty_args=VECTOR)))
    with builder.function("helper", [y]):
        packed = builder.emit(op.call_dps_packed("helped", y, out_ty=VECTOR))
        builder.emit_func_output(sorted_by_library(builder, packed))
    helper = builder.get().get_global_var("helper")
    with builder.function("main", [x]):
        total = builder.emit(op.add(x, builder.emit(relax.Call(helper, [x]))))
        doubled = builder.emit_te(topi.add, total, total)
        made = builder.emit(op.call_pure_packed("vm.builtin.copy", doubled, ty_args=VECTOR))
        builder.emit_func_output(made)
    module = builder.get()
    expected = (
        "relax.call_dps_packed(helped)",
        "relax.call_pure_packed(vm.builtin.copy)",
        "relax.call_tir(sort)",
    )
    assert unknown_operators(module) == expected
    assert unknown_operators(module, "helper") == (expected[0], expected[2])
    with pytest.raises(NotEvaluable, match=r"relax\.call_dps_packed\(helped\)") as caught:
        evaluate_function(module, [np.zeros(4, "float32")])
    assert caught.value.operator == expected[0]


def test_nothing_is_missing_where_everything_is_known() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", VECTOR)
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit_te(topi.nn.relu, builder.emit(op.sort(x))))
    assert unknown_operators(builder.get()) == ()


def test_a_random_operator_is_refused_by_name() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 4), "float32"))
    with builder.function("main", [x]):
        chance = relax.const(np.zeros((1, 1), "float32"))
        row = relax.const(np.zeros((1, 1), "int64"), "int64")
        builder.emit_func_output(builder.emit(op.multinomial_from_uniform(x, chance, row)))
    assert unknown_operators(builder.get()) == ("relax.multinomial_from_uniform",)
