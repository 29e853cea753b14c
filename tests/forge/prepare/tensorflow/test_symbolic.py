from collections.abc import Callable
from typing import Any

import pytest

from forge import LoadError

pytest.importorskip("tvm")
from tvm import relax

from forge.prepare.tensorflow.symbolic import check_symbolic

INPUTS = {"x": (("N", 3), "float32")}


def test_shapes_that_follow_the_inputs_pass(relax_module: Callable[..., Any]) -> None:
    check_symbolic(relax_module(INPUTS, lambda builder, x: relax.op.concat([x, x], 0)))
    check_symbolic(relax_module({"x": ((2, 3), "float32")}, lambda b, x: relax.op.abs(x)))


def test_a_shape_that_is_lost_is_refused(relax_module: Callable[..., Any]) -> None:
    module = relax_module(INPUTS, lambda builder, x: relax.op.unique(x))
    with pytest.raises(LoadError, match="lost"):
        check_symbolic(module)
