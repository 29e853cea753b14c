from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate.linear import accumulator, rounded

RNG = np.random.default_rng(14)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def test_products_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    large = RNG.integers(-(2**61), 2**61, size=(3, 4)).astype("int64")
    small = RNG.integers(-128, 128, size=(2, 3, 70)).astype("int8")
    cases: dict[str, Any] = {
        "matmul": (op.matmul, (normal(3, 4), normal(4, 5))),
        "batch": (op.matmul, (normal(2, 3, 4), normal(2, 4, 5))),
        "broadcast": (op.matmul, (normal(2, 1, 3, 4), normal(5, 4, 2))),
        "flat": (op.matmul, (normal(2, 5, 3, 4), normal(4, 2))),
        "left_vector": (op.matmul, (normal(4), normal(2, 4, 3))),
        "right_vector": (op.matmul, (normal(2, 3, 4), normal(4))),
        "vectors": (op.matmul, (normal(4), normal(4))),
        "nothing": (op.matmul, (normal(2, 0), normal(0, 3))),
        "large": (op.matmul, (large, large.T.copy())),
        "small": (
            lambda a, b: op.matmul(a, b, out_dtype="int32"),
            (small, small.swapaxes(1, 2).copy()),
        ),
        "wrapped": (op.matmul, (small, small.swapaxes(1, 2).copy())),
        "outer": (op.outer, (normal(3), normal(4))),
        "einsum": (
            lambda a, b: op.einsum((a, b), "bij,bkj->bik"),
            (normal(2, 3, 4), normal(2, 5, 4)),
        ),
        "implied": (lambda a, b: op.einsum((a, b), "ij, jk"), (normal(3, 4), normal(4, 2))),
        "diagonal": (lambda a: op.einsum((a,), "ii->i"), (normal(3, 3),)),
        "three": (
            lambda a, b, c: op.einsum((a, b, c), "i,ij,j->"),
            (normal(3), normal(3, 4), normal(4)),
        ),
        "integers": (lambda a, b: op.einsum((a, b), "ij,ij->i"), (large, large[::-1].copy())),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_allclose(ours, compiled, rtol=1e-5, atol=1e-5, err_msg=name)
        if ours.dtype.kind == "i":
            assert_array_equal(ours, compiled, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_floats_are_summed_in_float64_and_rounded_once(evaluated, dtype: str) -> None:  # type: ignore[no-untyped-def]
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    left, right = normal(5, 300).astype(kind), normal(300, 5).astype(kind)
    exact = left.astype("float64") @ right.astype("float64")
    assert_array_equal(evaluated(op.matmul, left, right), exact.astype(kind))
    assert_array_equal(evaluated(op.matmul, left, right, width=np.float64), exact)


def test_infinity_times_zero_is_nan_wherever_it_is_summed(evaluated) -> None:  # type: ignore[no-untyped-def]
    left = np.array([[np.inf, 1.0], [1.0, 2.0]], "float32")
    right = np.array([[0.0], [1.0]], "float32")
    assert_array_equal(evaluated(op.matmul, left, right), [[np.nan], [2.0]])


def test_an_accumulator_is_exact() -> None:
    int8, int64, float32 = map(np.dtype, ("int8", "int64", "float32"))
    assert accumulator(np.dtype("int32"), int8, int8) == np.float64
    assert accumulator(int64, int64, int64) == int64
    assert accumulator(float32, float32, float32) == np.float64
    assert rounded(np.array([200.0, -300.0]), int8).tolist() == [-56, -44]
