from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import NotEvaluable
from forge.evaluate.indexing import in_range

DATA = np.arange(24, dtype="float32").reshape(2, 3, 4)


def test_agrees_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    wild = np.array([-1, 9, 1], "int64")
    tame = np.array([2, 0, 1, 1], "int64")
    cases = {
        "take": (lambda x, i: op.take(x, i, 1), (DATA, tame)),
        "take_grid": (lambda x, i: op.take(x, i, 2), (DATA, tame.reshape(2, 2))),
        "take_flat": (lambda x, i: op.take(x, i), (DATA[0, 0], tame)),
        "take_clip": (lambda x, i: op.take(x, i, 1, "clip"), (DATA, wild)),
        "take_wrap": (lambda x, i: op.take(x, i, 1, "wrap"), (DATA, wild)),
        "elements": (
            lambda x, i: op.gather_elements(x, i, 1),
            (DATA, np.array([[[2, 1, 0, 1]], [[0, 2, 2, 1]]], "int64")),
        ),
        "nd": (op.gather_nd, (DATA, np.array([[1, 2], [0, 1]], "int64"))),
        "nd_batch": (
            lambda x, i: op.gather_nd(x, i, batch_dims=1),
            (DATA, np.array([[[1], [2]], [[0], [1]]], "int64")),
        ),
        "slice": (lambda x: op.strided_slice(x, [1, 2], [1, -3], [99, -1]), (DATA,)),
        "stride": (lambda x: op.strided_slice(x, [2], [3], [-99], [-2]), (DATA,)),
        "take_nan": (lambda x, i: op.take(x, i, 1, "nan"), (DATA, wild)),
        "take_scalar": (lambda x: op.take(x, relax.prim_value(2), 2), (DATA,)),
        "tensor": (
            lambda x, i, j: op.index_tensor(x, (i, j)),
            (DATA, np.array([[0], [1]], "int64"), np.array([[2, 0, 1]], "int64")),
        ),
        "dynamic": (
            lambda x, b, e, s: op.dynamic_strided_slice(x, b, e, s),
            (DATA, *(np.array(v, "int64") for v in ([0, -1, 3], [2, -9, -99], [1, -1, -2]))),
        ),
        "backwards": (lambda x: op.strided_slice(x, [1], [-1], [0], [-1]), (DATA,)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert_array_equal(ours, compiled, err_msg=name)


def test_a_tensor_of_indices_is_what_numpy_does(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code reads before the tensor at a negative index (the kind of apache/tvm 20217)
    first, last = np.array([-1, 0]), np.array([[-3], [2]])
    ours = evaluated(lambda x, i, j: op.index_tensor(x, (i, j)), DATA, first, last)
    assert_array_equal(ours, DATA[first, last])
    assert_array_equal(evaluated(lambda x, i: op.index_tensor(x, (i,)), DATA, first), DATA[first])
    with pytest.raises(NotEvaluable, match=r"index_tensor.*range"):
        evaluated(lambda x, i: op.index_tensor(x, (i,)), DATA, np.array([-3]))


@pytest.mark.parametrize("name", ["gather_elements", "gather_nd", "take"])
def test_a_negative_index_is_refused_where_it_has_no_meaning(evaluated, name: str) -> None:  # type: ignore[no-untyped-def]
    # compiled code reads before the tensor
    options = {"axis": 2} if name == "take" else {}
    indices = np.full((1, 1, 1), -1, "int64")
    with pytest.raises(NotEvaluable, match=rf"{name}: an index out of range"):
        evaluated(lambda x, i: getattr(op, name)(x, i, **options), DATA, indices)


@pytest.mark.parametrize("index", [-1, 3])
def test_an_index_beyond_the_tensor_is_refused(index: int) -> None:
    with pytest.raises(NotEvaluable, match="out of range"):
        in_range(np.array([0, index]), 3)
