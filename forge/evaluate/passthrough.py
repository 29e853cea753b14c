"""Operators that give their argument as it is: hints to the compiler, and training alone.

Those that say on which device a tensor lies are not among them: folding one away would move it.
"""

from __future__ import annotations

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


@operator(
    "builtin.stop_lift_params",
    "memory.ensure_zero_offset",
    "grad.no_grad",
    "grad.start_checkpoint",
    "grad.end_checkpoint",
    "wrap_param",
)
def same(call: Invocation) -> Value:
    """Give the argument."""
    return call.args[0]


@operator("nn.dropout")
def dropout(call: Invocation) -> Value:
    """Keep every element, as in inference; the mask is of ones."""
    array = call.array(0)
    return array, np.ones_like(array)


@operator("print")
def nothing(call: Invocation) -> Value:
    """Give nothing."""
    return ()


@operator("assert_op")
def check(call: Invocation) -> Value:
    """Give nothing where a condition holds.

    Raises:
        NotEvaluable: It does not.
    """
    if not call.scalar(0):
        raise NotEvaluable("the program's own assertion does not hold")
    return ()
