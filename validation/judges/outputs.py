"""Compare all outputs of a run: structure, names, shape, dtype, then values by a judge."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from validation.judges.protocol import Comparison, Context, Judge
from validation.vocabulary import Reason


def compare_outputs(
    ours: Mapping[str, np.ndarray],
    reference: Mapping[str, np.ndarray],
    choose: Callable[[str, np.dtype], Judge],
    contexts: Callable[[str], Context],
    sample: int = 0,
) -> list[Comparison]:
    """Compare two runs, one comparison an output of the reference.

    A wrong number or order of names is one comparison of its own, since nothing then tells
    which array belongs to which.

    Args:
        ours, reference: Arrays by output name, in the order in which each run gave them.
        choose: Gives the judge of an output, by its name and dtype.
        contexts: Gives what else that judge may want to know, by the output's name.
        sample: Which set of inputs, counted from 0.

    Raises:
        InvalidInput: A judge that does not take such an output.
    """
    names, expected = list(ours), list(reference)
    if len(names) != len(expected):
        message = f"{len(names)} outputs {names}, the reference has {len(expected)} {expected}"
        return [_incomparable("*", "structure", Reason.WRONG_STRUCTURE, message, sample)]
    if names != expected:
        message = f"outputs {names}, the reference's {expected}"
        if set(names) == set(expected):
            message += ": the same names in another order"
        return [_incomparable("*", "names", Reason.WRONG_NAMES, message, sample)]
    comparisons = []
    for name in names:
        mine, theirs = np.asarray(ours[name]), np.asarray(reference[name])
        comparison = _unlike(name, mine, theirs, sample)
        if comparison is None:
            judge = choose(name, theirs.dtype)
            comparison = judge.compare(name, mine, theirs, contexts(name))
        comparisons.append(replace(comparison, sample=sample))
    return comparisons


def _unlike(name: str, ours: np.ndarray, reference: np.ndarray, sample: int) -> Comparison | None:
    """Compare shape and dtype; None where both are the same."""
    if ours.shape != reference.shape:
        message = f"shape {ours.shape}, the reference's is {reference.shape}"
        message += _kinship(ours.shape, reference.shape)
        return _incomparable(name, "shape", Reason.WRONG_SHAPE, message, sample)
    if ours.dtype != reference.dtype:
        message = f"dtype {ours.dtype}, the reference's is {reference.dtype}"
        return _incomparable(name, "dtype", Reason.WRONG_DTYPE, message, sample)
    return None


def _kinship(ours: tuple[int, ...], reference: tuple[int, ...]) -> str:
    """Say in what simple way two different shapes differ; empty where in none."""
    if [dim for dim in ours if dim != 1] == [dim for dim in reference if dim != 1]:
        return ": they differ in dimensions of size 1 only"
    if sorted(ours) == sorted(reference):
        return ": the same sizes in another order, as after a transposition"
    if math.prod(ours) == math.prod(reference):
        return ": the same number of elements"
    return ""


def _incomparable(output: str, judge: str, reason: Reason, message: str, sample: int) -> Comparison:
    return Comparison(
        output,
        judge,
        reason,
        message,
        needed_atol=math.inf,
        needed_rtol=math.inf,
        sample=sample,
    )
