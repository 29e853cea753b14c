from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import Invocation
from forge.evaluate.registry import OPERATORS

LEFT = np.array([2**53 + 1, -3, 5, 0], "int64")
RIGHT = np.array([2**53, -3, 7, -1], "int64")
FLAGS = np.array([True, True, False, False]), np.array([True, False, True, False])


def test_agrees_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    names = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    cases = {name: (getattr(op, name), (LEFT, RIGHT)) for name in names}
    nan = np.array([np.nan, 1.0], "float32"), np.array([np.nan, 1.0], "float32")
    # compiled code says that NaN is not unequal to NaN, against IEEE 754 and every framework
    cases |= {f"nan_{name}": (getattr(op, name), nan) for name in names if name != "not_equal"}
    cases |= {name: (getattr(op, name), FLAGS) for name in ("logical_and", "logical_or")}
    cases["xor"] = (op.logical_xor, FLAGS)
    cases["where"] = (op.where, (FLAGS[0], LEFT, RIGHT))
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_array_equal(ours, compiled, err_msg=name)


def test_nan_is_unequal_to_itself() -> None:
    nan = np.array([np.nan], "float32")
    call = Invocation((nan, nan), None, relax.TensorType((1,), "bool"))
    assert_array_equal(OPERATORS["relax.not_equal"](call), np.array([True]))  # type: ignore[arg-type]
