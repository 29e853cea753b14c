from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tvm
from tvm import relax

from forge._tvm import constant
from forge.evaluate.values import Shape, array_of, has_type, is_floating, size_in_bytes

BATCH = tvm.tirx.Var("n", "int64")


def test_a_constant_is_viewed_without_a_copy_and_read_only() -> None:
    value = constant(np.arange(4, dtype="int64"))
    array = array_of(value)
    assert np.shares_memory(array, array_of(value))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_bfloat16_is_a_float_of_its_own() -> None:
    array = array_of(constant(np.array([1.5], ml_dtypes.bfloat16)))
    assert array.dtype == ml_dtypes.bfloat16
    assert is_floating(array.dtype)
    assert not is_floating(np.dtype("int8"))


def test_a_type_is_matched_exactly() -> None:
    tensor_type = relax.TensorType((2, 3), "float32")
    assert has_type(np.zeros((2, 3), "float32"), tensor_type)
    assert not has_type(np.zeros((2, 3), "float64"), tensor_type)
    assert not has_type(np.zeros((3, 2), "float32"), tensor_type)
    assert not has_type(np.zeros((2, 3), "float32"), relax.TensorType((BATCH, 3), "float32"))
    assert has_type(Shape((2, 3)), relax.ShapeType(ndim=2))
    assert not has_type(Shape((2, 3)), relax.ShapeType([2, 4]))
    pair = relax.TupleType([tensor_type, tensor_type])
    assert has_type((np.zeros((2, 3), "float32"),) * 2, pair)
    assert not has_type((np.zeros((2, 3), "float32"),), pair)


def test_sizes_are_known_where_shapes_are() -> None:
    tensor_type = relax.TensorType((2, 3), "float32")
    assert size_in_bytes(tensor_type) == 24
    assert size_in_bytes(relax.TupleType([tensor_type, tensor_type])) == 48
    assert size_in_bytes(relax.TensorType((BATCH, 3), "float32")) is None
