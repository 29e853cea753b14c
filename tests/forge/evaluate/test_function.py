from __future__ import annotations

import numpy as np
import pytest
import tvm
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.evaluate import NotEvaluable, evaluate_function


def test_symbolic_dimensions_are_taken_from_the_inputs() -> None:
    batch = tvm.tirx.Var("n", "int64")
    data = relax.Var("data", relax.TensorType((batch, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            halves = builder.emit(op.reshape(data, (batch * 2, 2)))
            sizes = builder.emit(op.shape_to_tensor(builder.emit(op.shape_of(halves))))
            result = builder.emit_output(relax.Tuple([halves, sizes]))
        builder.emit_func_output(result)
    values = np.arange(12, dtype="float32").reshape(3, 4)
    halves, sizes = evaluate_function(builder.get(), [values])  # type: ignore[misc]
    assert_array_equal(halves, values.reshape(6, 2))
    assert_array_equal(sizes, np.array([6, 2], "int64"))


def test_a_width_replaces_every_float() -> None:
    data = relax.Var("data", relax.TensorType((1,), "float16"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        with builder.dataflow():
            total = builder.emit(op.add(data, constant(np.array([1.0], "float16"))))
            wide = builder.emit(op.astype(total, "float32"))
            result = builder.emit_output(wide)
        builder.emit_func_output(result)
    tiny = np.array([2.0**-20])
    wide_result = evaluate_function(builder.get(), [tiny], width=np.dtype("float64"))
    assert_array_equal(wide_result, np.array([1.0 + 2.0**-20]))
    own_result = evaluate_function(builder.get(), [tiny.astype("float16")])
    assert_array_equal(own_result, np.array([1.0], "float32"))


def test_an_unknown_operator_is_named() -> None:
    data = relax.Var("data", relax.TensorType((1, 1, 2, 2), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [data]):
        builder.emit_func_output(builder.emit(op.image.resize2d(data, (4, 4))))
    with pytest.raises(NotEvaluable, match=r"image\.resize2d"):
        evaluate_function(builder.get(), [np.zeros((1, 1, 2, 2), "float32")])
