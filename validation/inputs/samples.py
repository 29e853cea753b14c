"""Make the sets of inputs that a plan asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from forge import InvalidInput, TensorSpec
from forge.compile.binding import bind_arrays
from validation.inputs.drawing import random_inputs
from validation.inputs.plan import InputPlan


def make_inputs(
    plan: InputPlan, specs: Sequence[TensorSpec], limits: Mapping[str, int] | None = None
) -> list[dict[str, np.ndarray]]:
    """Make one set of inputs a seed.

    Args:
        plan: How many, and how they come about.
        specs: The model's inputs.
        limits: By input name, what integers stay below; a range of the plan's counts before it.

    Raises:
        InvalidInput: No samples, a range that cannot be, a dtype that cannot be made up, or a
            user's function that fails or does not give what the model takes.
    """
    if plan.samples < 1:
        raise InvalidInput(f"{plan.samples} samples are asked for, expected at least 1.")
    for name, (low, high) in plan.ranges.items():
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise InvalidInput(f"the range {low}:{high} of input {name!r} holds no numbers.")
    seeds = range(plan.seed, plan.seed + plan.samples)
    if plan.function is not None:
        return [_from_function(plan.function, specs, seed) for seed in seeds]
    return [random_inputs(specs, seed, limits, plan.ranges) for seed in seeds]


def _from_function(
    function: object, specs: Sequence[TensorSpec], seed: int
) -> dict[str, np.ndarray]:
    name = getattr(function, "__qualname__", str(function))
    where = f"the input function {name} with seed {seed}"
    if not callable(function):
        raise InvalidInput(f"the input function {name} cannot be called.")
    try:
        result = function(seed)
    except Exception as error:
        raise InvalidInput(f"{where} failed: {type(error).__name__}: {error}") from error
    if not isinstance(result, Mapping):
        raise InvalidInput(
            f"{where} gave a {type(result).__name__}.",
            hint="return a dict of numpy arrays by input name",
        )
    arrays = {str(key): np.asarray(value) for key, value in result.items()}
    try:
        bound = bind_arrays(specs, arrays)
    except InvalidInput as error:
        raise InvalidInput(f"{where} gave {error.message}", error.hint) from error
    return {spec.name: array for spec, array in zip(specs, bound)}
