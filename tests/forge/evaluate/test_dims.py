from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax

from forge.evaluate import NotEvaluable, Shape
from forge.evaluate.dims import Dims

BATCH, LENGTH = (tvm.tirx.Var(name, "int64") for name in "nm")


def test_dimensions_are_learnt_from_arrays_shapes_and_tuples() -> None:
    dims = Dims()
    fields = [relax.TensorType((BATCH, 4), "float32"), relax.ShapeType([LENGTH])]
    dims.learn(relax.TupleType(fields), (np.zeros((3, 4)), Shape((5,))))
    assert dims.number(BATCH * LENGTH + 1) == 16
    assert Dims().number(BATCH) is None


def test_a_shape_that_contradicts_what_is_known_is_refused() -> None:
    dims = Dims()
    dims.learn(relax.TensorType((BATCH,), "float32"), np.zeros(3))
    for wrong in (
        relax.TensorType((BATCH,), "float32"),
        relax.TensorType((BATCH + 2,), "float32"),
        relax.TensorType((7,), "float32"),
        relax.TensorType((BATCH, 4), "float32"),
        relax.TensorType(dtype="float32", ndim=2),
    ):
        with pytest.raises(NotEvaluable, match="shape"):
            dims.learn(wrong, np.zeros(4))
    dims.learn(relax.TensorType((BATCH + LENGTH,), "float32"), np.zeros(9))
    dims.learn(relax.TensorType(dtype="float32", ndim=-1), np.zeros((1, 2)))
