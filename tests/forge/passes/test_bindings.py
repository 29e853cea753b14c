from __future__ import annotations

from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.inspection import count_operators
from forge.passes import bindings


def test_unused_bindings_go_and_used_ones_stay(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        builder.emit(op.exp(builder.emit(op.sin(params[0]))))
        return builder.emit(op.cos(params[0]))

    module = module_of(build, ((2,), "float32"))
    swept = bindings.rewrite_functions(module, bindings.remove_unused)
    assert count_operators(swept) == {"relax.cos": 1}
    assert count_operators(module)["relax.sin"] == 1
    assert relax.analysis.well_formed(swept) is not False


def test_effects_stay() -> None:
    data = relax.Var("data", relax.TensorType((), "bool"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data], pure=False):
        builder.emit(op.assert_op(data))
        builder.emit(op.logical_not(data))
        builder.emit_func_output(data)
    swept = bindings.rewrite_functions(builder.get(), bindings.remove_unused)
    assert count_operators(swept) == {"relax.assert_op": 1}


def test_a_match_cast_defines_dimensions_and_stays(module_of: Any) -> None:
    size = tvm.tirx.Var("size", "int64")

    def build(builder: Any, params: list[Any]) -> Any:
        builder.match_cast(params[0], relax.TensorType((size,), "float32"))
        return builder.emit(op.zeros((size,), "float32"))

    data = (tvm.tirx.Var("n", "int64"),), "float32"
    module = module_of(build, data)
    swept = bindings.rewrite_functions(module, bindings.remove_unused)
    assert any(
        isinstance(binding, relax.MatchCast) for binding in swept["main"].body.blocks[0].bindings
    )


def test_leaves_are_variables_and_constants_once_a_use(module_of: Any) -> None:
    size = tvm.tirx.Var("n", "int64")
    value = constant(np.ones(2, "float32"))

    def build(builder: Any, params: list[Any]) -> Any:
        total = builder.emit(op.add(params[0], value))
        return builder.emit(op.reshape(total, (size * 2,)))

    module = module_of(build, ((size, 2), "float32"))
    add, reshape = (b.value for b in module["main"].body.blocks[0].bindings[:2])
    assert [type(leaf).__name__ for leaf in bindings.leaves(add)].count("GenericConst") == 1
    assert sorted(var.name for var in bindings.used_variables(reshape)) == ["lv", "n"]


def test_tir_functions_are_left_alone(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        builder.emit(op.exp(params[0]))
        return builder.emit_te(tvm.topi.nn.relu, params[0])

    module = module_of(build, ((2,), "float32"))
    swept = bindings.rewrite_functions(module, bindings.remove_unused)
    assert count_operators(swept) == {"relax.call_tir": 1}
    assert swept["relu"].same_as(module["relu"])
