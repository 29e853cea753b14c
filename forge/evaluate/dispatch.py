"""Evaluate one call of a Relax operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from forge.evaluate import (  # noqa: F401  (each registers its operators)
    activations,
    arithmetic,
    attention,
    comparison,
    convolution,
    creation,
    detection,
    indexing,
    linear,
    losses,
    movement,
    normalization,
    passthrough,
    pooling,
    quantization,
    reductions,
    regions,
    resize,
    sampling,
    scatter,
    shape,
    sorting,
    transform,
    unary,
)
from forge.evaluate.registry import OPERATORS, Invocation, NotEvaluable
from forge.evaluate.values import Value


def is_known(name: str) -> bool:
    """Tell whether an operator, for example ``relax.add``, can be evaluated at all."""
    return name in OPERATORS


def evaluate_call(
    call: Any, args: Sequence[Value], value_type: Any = None, width: np.dtype | None = None
) -> Value:
    """Compute the value of a call of a Relax operator.

    Args:
        call: The call; its operator and attributes are read, its arguments are not.
        args: The values of its arguments.
        value_type: The type of the result, where it is better known than the call's own.
        width: Evaluate floating-point numbers in this dtype instead of the program's own.

    Raises:
        NotEvaluable: The operator is not known, or has no defined value here.
    """
    evaluator = OPERATORS.get(call.op.name)
    if evaluator is None:
        raise NotEvaluable("the operator cannot be evaluated")
    invocation = Invocation(tuple(args), call.attrs, value_type or call.ty, width)
    with np.errstate(all="ignore"):
        try:
            return evaluator(invocation)
        except (ArithmeticError, ValueError, TypeError, IndexError, MemoryError) as error:
            raise NotEvaluable(f"{type(error).__name__}: {error}") from error
