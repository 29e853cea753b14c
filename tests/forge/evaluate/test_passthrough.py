from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import Invocation, NotEvaluable, is_known
from forge.evaluate.registry import OPERATORS

DATA = np.array([1.0, np.nan, -0.0], "float32")


def test_a_hint_gives_the_very_argument() -> None:
    for name in ("builtin.stop_lift_params", "grad.no_grad", "grad.start_checkpoint"):
        call = Invocation((DATA,), None, relax.TensorType((3,), "float32"))
        assert OPERATORS[f"relax.{name}"](call) is DATA


def test_dropout_keeps_everything_as_in_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    results = both_ways({"dropout": (lambda x: op.nn.dropout(x, 0.9), (DATA,))})
    for ours, compiled in zip(*results["dropout"], strict=True):
        assert ours.dtype == compiled.dtype
        assert_array_equal(ours, compiled)


def test_where_a_tensor_lies_is_not_forgotten() -> None:
    assert not is_known("relax.to_vdevice")
    assert not is_known("relax.hint_on_device")


@pytest.mark.parametrize("holds", [True, False])
def test_an_assertion_of_the_program_counts(holds: bool) -> None:
    call = Invocation((np.array(holds),), None, relax.TupleType([]))
    if holds:
        assert OPERATORS["relax.assert_op"](call) == ()
    else:
        with pytest.raises(NotEvaluable, match="assertion"):
            OPERATORS["relax.assert_op"](call)
