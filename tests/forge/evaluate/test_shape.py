from __future__ import annotations

import numpy as np
from tvm import relax

from forge.evaluate import Invocation, Shape
from forge.evaluate.registry import OPERATORS


def evaluate(name: str, value: object, result: object) -> object:
    return OPERATORS[f"relax.{name}"](Invocation((value,), None, result))  # type: ignore[arg-type]


def test_a_shape_becomes_an_int64_vector_and_back() -> None:
    vector = evaluate("shape_to_tensor", Shape((2, 3)), relax.TensorType((2,), "int64"))
    assert isinstance(vector, np.ndarray)
    assert vector.dtype == np.int64
    assert evaluate("tensor_to_shape", vector, relax.ShapeType(ndim=2)) == Shape((2, 3))


def test_shape_and_size_of_a_tensor() -> None:
    data = np.zeros((2, 3), "float32")
    assert evaluate("shape_of", data, relax.ShapeType(ndim=2)) == Shape((2, 3))
    assert evaluate("size", data, relax.TensorType((), "int64")) == 6
