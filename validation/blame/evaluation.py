"""Evaluate a loaded model in numpy, by the names its framework gave to inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from forge import InvalidInput, IRModule
from validation.references.protocol import Arrays

# Multiplications that numpy does in about a minute.
_WORK_LIMIT = 20_000_000_000


class CannotEvaluateError(Exception):
    """The module cannot be evaluated; the text says why and names all unknown operators."""


def evaluate_module(
    ir: IRModule, module: Any, inputs: Mapping[str, np.ndarray], width: np.dtype | None = None
) -> Arrays:
    """Evaluate a module operator by operator, compiling nothing.

    Args:
        ir: Says in which order inputs and outputs stand.
        module: ``ir.module``, or the same model before folding.
        inputs: Arrays by name.
        width: Compute all floating-point numbers in this dtype instead of the program's own.

    Returns:
        Arrays by output name.

    Raises:
        CannotEvaluateError: Operators are unknown, or it would take too long.
    """
    from forge.evaluate import (
        NotEvaluable,
        estimated_work,
        evaluate_function,
        unknown_operators,
    )

    unknown = unknown_operators(module)
    if unknown:
        raise CannotEvaluateError(f"numpy has no {', '.join(unknown)}")
    arrays = [np.asarray(inputs[spec.name]) for spec in ir.inputs]
    work = estimated_work(module, shapes=[array.shape for array in arrays])
    if work > _WORK_LIMIT:
        raise CannotEvaluateError(
            f"some {work:.1g} multiplications are too many for numpy, "
            f"the limit is {_WORK_LIMIT:.1g}"
        )
    try:
        result = evaluate_function(module, arrays, width=width)
    except (NotEvaluable, InvalidInput) as error:
        raise CannotEvaluateError(str(error)) from error
    except MemoryError as error:
        raise CannotEvaluateError("not enough memory") from error
    leaves = list(_leaves(result))
    return dict(zip((spec.name for spec in ir.outputs), leaves, strict=True))


def _leaves(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for part in value:
            yield from _leaves(part)
    else:
        yield np.asarray(value)
