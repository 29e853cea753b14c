from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from numpy.testing import assert_array_equal
from tvm import tirx

from forge.evaluate import NotEvaluable
from forge.evaluate.expressions import Scope, unknown_parts

INDEX = tirx.Var("i", "int64")
FLOAT = tirx.Var("x", "float32")


def value(expr: Any, index: Any = 0, number: Any = 0.0, width: Any = None) -> np.ndarray:
    scope = Scope(width)
    scope.bind(INDEX, np.asarray(index, "int64"))
    scope.bind(FLOAT, np.asarray(number, "float32" if width is None else width))
    with np.errstate(all="ignore"):
        return scope.value(expr)


def test_integers_are_divided_each_in_its_way() -> None:
    places = np.array([-7, -1, 0, 7])
    assert value(tirx.floordiv(INDEX, 2), places).tolist() == [-4, -1, 0, 3]
    assert value(tirx.floormod(INDEX, 2), places).tolist() == [1, 1, 0, 1]
    assert value(tirx.truncdiv(INDEX, 2), places).tolist() == [-3, 0, 0, 3]
    assert value(tirx.truncmod(INDEX, 2), places).tolist() == [-1, -1, 0, 1]
    with pytest.raises(NotEvaluable, match="zero"):
        value(tirx.floordiv(1, INDEX), places)


def test_what_a_condition_guards_may_be_undefined_elsewhere() -> None:
    guarded = tirx.if_then_else(INDEX != 0, tirx.floordiv(12, INDEX), tirx.IntImm("int64", -1))
    assert value(guarded, [0, 4, -5]).tolist() == [-1, 3, -3]
    both = tirx.And(INDEX != 0, tirx.floormod(12, INDEX) == 0)
    assert value(both, [0, 4, 5]).tolist() == [False, True, False]
    whole = tirx.if_then_else(FLOAT > 0, tirx.Cast("int32", FLOAT), tirx.IntImm("int32", 0))
    assert value(whole, 0, [np.nan, 2.5, -np.inf]).tolist() == [0, 2, 0]


def test_an_index_is_checked_where_it_counts() -> None:
    buffer = tirx.decl_buffer((3,), "float32", "A")
    scope = Scope()
    scope.buffers[buffer.__chandle__()] = np.array([1.0, 2.0, 3.0], "float32")
    scope.bind(INDEX, np.array([-1, 0, 2, 3]))
    load = buffer[INDEX]
    guarded = tirx.if_then_else(tirx.all(INDEX >= 0, INDEX < 3), load, tirx.FloatImm("float32", 0))
    assert scope.value(guarded).tolist() == [0.0, 1.0, 3.0, 0.0]
    with pytest.raises(NotEvaluable, match="range"):
        scope.value(load)


def test_nan_survives_a_maximum() -> None:
    zero = tirx.FloatImm("float32", 0.0)
    numbers = [np.nan, -1.0, 1.0]
    assert_array_equal(value(tirx.max(FLOAT, zero), 0, numbers), [np.nan, 0.0, 1.0])
    assert_array_equal(value(tirx.min(FLOAT, zero), 0, numbers), [np.nan, -1.0, 0.0])


def test_floats_are_rounded_to_their_dtype_or_as_wide_as_asked() -> None:
    third = FLOAT / tirx.FloatImm("float32", 3.0)
    assert value(third, 0, 1.0) == np.float32(1.0) / np.float32(3.0)
    wide = value(tirx.exp(third), 0, 1.0, np.dtype("float64"))
    assert wide == np.exp(1.0 / 3.0)
    assert value(tirx.nearbyint(FLOAT), 0, [0.5, 1.5]).tolist() == [0.0, 2.0]


def test_what_cannot_be_evaluated_is_named() -> None:
    strange = tirx.call_extern("float32", "sinf", FLOAT)
    assert list(unknown_parts(strange + FLOAT)) == ["call_extern"]
    assert list(unknown_parts(tirx.exp(FLOAT) + tirx.Select(INDEX > 1, FLOAT, FLOAT))) == []
    with pytest.raises(NotEvaluable, match="call_extern"):
        value(strange)
    with pytest.raises(NotEvaluable, match="scalar j"):
        value(tvm.tirx.Var("j", "int64") + INDEX)
