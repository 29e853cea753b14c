"""Compare all outputs of a run: structure, names, shape, dtype, then values by a judge."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from validation.judges.protocol import Comparison, Judge
from validation.vocabulary import Reason


def compare_outputs(
    ours: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray], judge: Judge
) -> list[Comparison]:
    """Compare two runs, one comparison an output of the reference.

    A wrong number or order of names is one comparison of its own, since nothing then tells
    which array belongs to which.
    """
    names, expected = list(ours), list(reference)
    if len(names) != len(expected):
        message = f"{len(names)} outputs {names}, the reference has {len(expected)} {expected}"
        return [_incomparable("*", "structure", Reason.WRONG_STRUCTURE, message)]
    if names != expected:
        message = f"outputs {names}, the reference's {expected}"
        return [_incomparable("*", "names", Reason.WRONG_NAMES, message)]
    return [
        _compare(name, np.asarray(ours[name]), np.asarray(reference[name]), judge) for name in names
    ]


def proves_nothing(reference: Mapping[str, np.ndarray]) -> str:
    """Say why a reference result cannot show a fault; empty where it can."""
    if not reference:
        return "the model has no outputs"
    faults = [fault for array in reference.values() if (fault := _emptiness(np.asarray(array)))]
    if len(faults) < len(reference):
        return ""
    return f"every output of the reference is {' or '.join(sorted(set(faults)))}"


def _compare(name: str, ours: np.ndarray, reference: np.ndarray, judge: Judge) -> Comparison:
    if ours.shape != reference.shape:
        message = f"shape {ours.shape}, the reference's is {reference.shape}"
        return _incomparable(name, "shape", Reason.WRONG_SHAPE, message)
    if ours.dtype != reference.dtype:
        message = f"dtype {ours.dtype}, the reference's is {reference.dtype}"
        return _incomparable(name, "dtype", Reason.WRONG_DTYPE, message)
    return judge.compare(name, ours, reference)


def _incomparable(output: str, judge: str, reason: Reason, message: str) -> Comparison:
    return Comparison(output, judge, reason, message, needed_atol=math.inf)


def _emptiness(array: np.ndarray) -> str:
    if not array.size:
        return "empty"
    # bfloat16 and its kind are of numpy kind V.
    if array.dtype.kind in "fcV" and not np.isfinite(array).any():
        return "without a finite value"
    if array.size > 1 and (array == array.ravel()[0]).all():
        return "constant"
    return ""
