from __future__ import annotations

import numpy as np

from forge._tvm import constant
from forge.evaluate import Shape
from forge.passes.known import Known, KnownTuple, bytes_of, value_of, wrap


def test_an_expression_is_made_once_and_keeps_the_value() -> None:
    known = Known(np.array([1.0, 2.0], "float32"))
    assert not known.is_constant
    first = known.expr
    assert known.is_constant
    assert known.expr.same_as(first)
    assert isinstance(known.value, np.ndarray)
    assert known.value.tolist() == [1.0, 2.0]


def test_a_result_that_is_its_operand_keeps_its_expression() -> None:
    array = np.zeros(3, "float32")
    operand = Known(array, constant(array))
    assert wrap(array, [operand]) is operand
    assert wrap(array.copy(), [operand]) is not operand


def test_a_tuple_is_known_when_all_its_fields_are() -> None:
    field = Known(Shape((2, 3)))
    assert value_of(KnownTuple([field, field])) == (Shape((2, 3)), Shape((2, 3)))
    assert value_of(KnownTuple([field, None])) is None


def test_only_tensors_take_bytes() -> None:
    array = np.zeros(3, "float32")
    assert bytes_of((array, Shape((5, 5)), (array,))) == 24
