"""Tell a fault of Forge's rewrites before TVM's frontend from one of the frontend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forge import stages
from validation.blame.evaluation import CannotEvaluateError, evaluate_module
from validation.blame.words import difference, is_same
from validation.judging import Judging
from validation.references import framework_named
from validation.references.protocol import Arrays
from validation.trial import Trial


def is_prepare_wrong(
    trial: Trial,
    inputs: Mapping[str, np.ndarray],
    reference: Arrays,
    judging: Judging,
    sample: int,
    evidence: list[str],
) -> bool:
    """Tell whether the rewrites, rather than the frontend, changed what the model computes.

    The prepared model runs in its own framework, where it can; else the model is loaded without
    the rewrites, and they are at fault where that is right.

    Args:
        trial: A cell whose imported IR differs from the reference.
        inputs: The sample on which it does.
        reference: What is right there.
        judging: The cell's judges.
        sample: Its number.
        evidence: Gets a line a measurement.
    """

    def same(text: str, result: Arrays) -> bool:
        comparisons = judging.compare(_renamed(result, reference), reference, sample)
        evidence.append(f"{text}: {difference(comparisons)}")
        return is_same(comparisons)

    try:
        natively = _run_prepared(trial, inputs)
    except Exception as error:
        evidence.append(f"the prepared model cannot be run natively: {_short(error)}")
    else:
        return not same("the prepared model, run natively, against the reference", natively)
    try:
        bare = trial.load(fold=False, prepare=False)
        result = evaluate_module(bare, bare.module, inputs)
    except CannotEvaluateError as error:
        evidence.append(f"loaded without rewrites, it cannot be evaluated: {error}")
        return False
    except Exception as error:
        evidence.append(f"it cannot be loaded without rewrites: {_short(error)}")
        return False
    return same("IR loaded without rewrites, evaluated, against the reference", result)


def _run_prepared(trial: Trial, inputs: Mapping[str, np.ndarray]) -> Arrays:
    shown: list[tuple[str, Any]] = []
    with stages.observing_prepared(lambda name, model: shown.append((name, model))):
        trial.load(fold=False)
    if not shown:
        raise LookupError("the loader prepares none")
    name, model = shown[-1]
    framework = framework_named(name)
    session = framework.session(model, {}, trial.case.threads)
    specs = framework.inputs(model, {})
    # A route through another framework keeps the order of the inputs, and not always their names.
    ordered = [inputs[spec.name] for spec in trial.loaded.inputs]
    given = {spec.name: np.array(array) for spec, array in zip(specs, ordered, strict=True)}
    return session(given)


def _renamed(arrays: Arrays, like: Arrays) -> Arrays:
    """Take the outputs by position, where another framework names them otherwise."""
    if len(arrays) != len(like):
        return arrays
    return dict(zip(like, arrays.values(), strict=True))


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
