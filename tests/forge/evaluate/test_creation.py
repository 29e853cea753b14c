from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from tvm import relax
from tvm.relax import op
from tvm.tirx import FloatImm

from forge._tvm import constant

GRID = np.arange(12, dtype="float32").reshape(3, 4)


def test_agrees_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    on, off = (relax.prim_value(FloatImm("float32", value)) for value in (2.0, -1.0))
    classes = np.array([0, -1, 3, 2], "int32")
    cases = {
        "full": (lambda: op.full((2, 3), constant(np.int64(2**53 + 1)), "int64"), ()),
        "zeros": (lambda: op.zeros((2,), "int8"), ()),
        "ones": (lambda: op.ones((2,), "bool"), ()),
        "arange": (lambda: op.arange(7, 1, -2, "int64"), ()),
        "arange_float": (lambda: op.arange(0.0, 1.0, 0.25, "float32"), ()),
        "eye": (lambda: op.eye(3, 4, 1, "float32"), ()),
        "tril": (lambda x: op.tril(x, 1), (GRID,)),
        "triu": (lambda x: op.triu(x, -1), (GRID,)),
        "one_hot": (lambda x: op.one_hot(x, on, off, 3, -1), (classes,)),
        "one_hot_first": (lambda x: op.one_hot(x, on, off, 3, 0), (classes,)),
        "hamming_one": (lambda: op.hamming_window(1, True, 0.54, 0.46, "float32"), ()),
        "zeros_like": (op.zeros_like, (GRID,)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_array_equal(ours, compiled, err_msg=name)


def test_windows_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases = {
        f"{periodic}": (lambda p=periodic: op.hamming_window(7, p, 0.5, 0.25, "float32"), ())
        for periodic in (True, False)
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_allclose(ours, compiled, rtol=1e-6, atol=1e-7, err_msg=name)
