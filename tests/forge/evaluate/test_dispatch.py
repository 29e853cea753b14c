from __future__ import annotations

import numpy as np
import pytest
import tvm
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import NotEvaluable, evaluate_call, is_known

# What moves memory, talks to other machines, calls foreign code, or is for training alone.
_WITHOUT_A_VALUE = (
    *("builtin", "call_builtin_with_ctx", "call_dps_packed", "call_inplace_packed"),
    *("call_pure_packed", "call_py_func", "call_tir", "call_tir_inplace", "call_tir_with_grad"),
    *("ccl", "dist", "grad", "hint_on_device", "inspect", "invoke_closure"),
    *("invoke_pure_closure", "make_closure", "memory", "multinomial_from_uniform"),
    *("null_value", "to_vdevice", "vm"),
)
MATRIX = relax.Var("x", relax.TensorType((2, 3), "float32"))
DATA = np.arange(6, dtype="float32").reshape(2, 3)


def test_every_operator_with_a_meaning_is_known() -> None:
    names = [name for name in tvm.ir.Op.list_op_names() if name.startswith("relax.")]
    assert len(names) > 200
    unknown = [name for name in names if not is_known(name)]
    assert [name for name in unknown if name.split(".")[1] not in _WITHOUT_A_VALUE] == []


def test_a_better_type_than_the_call_has_is_used() -> None:
    builder = relax.BlockBuilder()
    call = builder.normalize(op.zeros_like(MATRIX))
    result = evaluate_call(call, [DATA], relax.TensorType((2, 3), "int8"))
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.int8
    assert_array_equal(evaluate_call(call, [DATA], width=np.dtype("float64")), np.zeros((2, 3)))


def test_whatever_numpy_objects_to_has_no_value() -> None:
    other = relax.Var("y", relax.TensorType((3, 2), "float32"))
    call = relax.BlockBuilder().normalize(op.matmul(MATRIX, other))
    with pytest.raises(NotEvaluable, match="ValueError"):
        evaluate_call(call, [DATA, DATA])


def test_an_unknown_operator_has_no_value() -> None:
    call = relax.Call(tvm.ir.Op.get("relax.null_value"), [])
    with pytest.raises(NotEvaluable, match="cannot be evaluated"):
        evaluate_call(call, [])
