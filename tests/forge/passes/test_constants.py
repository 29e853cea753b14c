from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.passes.constants import ConstantFinder


def defined(module: Any) -> tuple[ConstantFinder, list[Any]]:
    finder = ConstantFinder(growth_limit=1000)
    bindings = list(module["main"].body.blocks[0].bindings)
    for binding in bindings:
        finder.define(binding.var, binding.value)
    return finder, [binding.var for binding in bindings]


def test_constants_are_seen_through_movement_and_tuples(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        turned = builder.emit(op.permute_dims(constant(np.array([[1.0, 2.0]], "float32"))))
        pair = builder.emit(relax.Tuple([turned, turned]))
        one = builder.emit(relax.TupleGetItem(pair, 1))
        return builder.emit(op.add(params[0], one))

    finder, variables = defined(module_of(build, ((2, 1), "float32")))
    found = finder.array(variables[2])
    assert found is not None
    assert found.tolist() == [[1.0], [2.0]]
    assert finder.array(variables[3]) is None


def test_what_would_grow_beyond_the_limit_is_not_computed(module_of: Any) -> None:
    finder, variables = defined(module_of(lambda b, _: b.emit(op.ones((10**9,), "float32"))))
    assert finder.array(variables[0]) is None


def test_a_remembered_value_is_given_before_rounding() -> None:
    finder = ConstantFinder()
    rounded = constant(np.array([1.0], "float32"))
    finder.remember(rounded, lambda: np.array([1.0 + 1e-12]))
    assert finder.array(rounded) == np.array([1.0 + 1e-12])
