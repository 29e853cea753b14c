from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tvm import relax

from forge.evaluate import Invocation, NotEvaluable, Shape
from forge.evaluate.registry import OPERATORS, operator

FLOATS = np.array([1.0, 2.0], "float32")


def call(*args: object, **attrs: object) -> Invocation:
    value_type = relax.TensorType((2,), "float16")
    return Invocation(args, SimpleNamespace(**attrs), value_type)  # type: ignore[arg-type]


def test_arguments_are_taken_as_what_they_are() -> None:
    invocation = call(FLOATS, Shape((2, 3)), np.array([7]), 5)
    assert invocation.array(0) is FLOATS
    assert invocation.shape(1) == (2, 3)
    assert (invocation.scalar(2), invocation.scalar(3)) == (7, 5)
    for wrong in (lambda: invocation.array(1), lambda: invocation.shape(0)):
        with pytest.raises(NotEvaluable, match=r"argument \d is no"):
            wrong()


def test_a_pair_is_of_one_dtype() -> None:
    assert_array_equal(call(FLOATS, 3).pair()[1], np.array(3, "float32"))
    assert call(2**53 + 1, np.array([0], "int64")).pair()[0] == 2**53 + 1
    with pytest.raises(NotEvaluable, match="float32 and float64"):
        call(FLOATS, FLOATS.astype("float64")).pair()
    with pytest.raises(NotEvaluable, match="neither"):
        call(1, 2).pair()


def test_attributes_are_read_as_python_numbers() -> None:
    invocation = call(axis=-1, axes=(-1, 0), none=None, sizes=[1, 2])
    assert invocation.axis(3) == 2
    assert invocation.axis(3, "none") is None
    assert invocation.axes("axes") == (-1, 0)
    assert invocation.axes("none") is None
    assert invocation.ints("sizes") == (1, 2)


def test_a_width_replaces_floats_alone() -> None:
    narrow, wide = call(), Invocation((), None, call().type, np.dtype("float64"))
    assert (narrow.dtype, wide.dtype) == ("float16", "float64")
    assert wide.widen("bfloat16") == np.float64
    assert wide.widen("int8") == np.int8
    assert narrow.widen("bfloat16").name == "bfloat16"


def test_operators_register_under_their_full_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forge.evaluate.registry.OPERATORS", OPERATORS.copy())
    from forge.evaluate import registry

    @operator("test.one", "test.two")
    def evaluate(invocation: Invocation) -> int:
        return 1

    assert registry.OPERATORS["relax.test.one"] is registry.OPERATORS["relax.test.two"] is evaluate
    assert "relax.test.one" not in OPERATORS


def test_an_error_names_the_operator_it_is_about() -> None:
    assert str(NotEvaluable("why")) == "why"
    named = NotEvaluable("why", "relax.take")
    assert str(named) == "relax.take: why"
    assert (named.reason, named.operator) == ("why", "relax.take")
