"""Ask other runtimes of the model's framework who is right when the reference and Forge differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from validation.references.arbiters import arbiters_of
from validation.references.arbiters.protocol import Arbiter
from validation.references.protocol import Arrays
from validation.trial import Trial, copies
from validation.vocabulary import Blame

Judged = Callable[[Arrays], tuple[bool, str]]


@dataclass(frozen=True)
class Opinion:
    """What one arbiter says.

    Attributes:
        arbiter: Its name.
        for_reference: It gives what the reference gave.
        for_forge: It gives what Forge's side gave.
        own_kernels: Its kernels are not the reference's.
    """

    arbiter: str
    for_reference: bool
    for_forge: bool
    own_kernels: bool


def ask_arbiters(
    trial: Trial,
    inputs: Mapping[str, np.ndarray],
    like_reference: Judged,
    like_forge: Judged,
    forge_name: str,
    evidence: list[str],
) -> list[Opinion]:
    """Run every arbiter that can run the model, and hear what it agrees with.

    Args:
        trial: The cell.
        inputs: One sample.
        like_reference: Tells whether a result is the reference's, and how far it is from it.
        like_forge: The same for Forge's side.
        forge_name: What Forge's side is, for the evidence.
        evidence: Gets a line an arbiter, also for those that cannot run the model.
    """
    opinions = []
    for arbiter in arbiters_for(trial):
        try:
            result = arbiter.start()(copies(inputs))
        except Exception as error:
            evidence.append(f"arbiter {arbiter.name}: cannot run the model: {_short(error)}")
            continue
        reference, far_from_reference = like_reference(result)
        forge, far_from_forge = like_forge(result)
        evidence.append(
            f"arbiter {arbiter.name}: against the reference {far_from_reference}; "
            f"against {forge_name} {far_from_forge}"
        )
        opinions.append(Opinion(arbiter.name, reference, forge, arbiter.own_kernels))
    return opinions


def arbiters_for(trial: Trial) -> Sequence[Arbiter]:
    """List the arbiters of a cell; where results were given, the native runtime is the first."""
    sample = trial.built
    found = arbiters_of(trial.framework.name, sample.model, sample.options, trial.case.threads)
    if trial.session is None:
        return (Arbiter("the native runtime", trial.native_session), *found)
    return found


def verdict_of(opinions: Sequence[Opinion]) -> Blame:
    """Weigh opinions: ``reference``, ``loader``, or ``unknown`` where they do not agree.

    An arbiter that agrees with both sides, or with neither, decides nothing. Where all that decide
    agree, theirs is the verdict. Else only those with kernels of their own count: one that shares
    the reference's kernels shares their faults. Where there is no arbiter at all, the reference
    stays what is right.
    """
    if not opinions:
        return Blame.LOADER
    for heard in (opinions, [each for each in opinions if each.own_kernels]):
        sides = {each.for_forge for each in heard if each.for_forge != each.for_reference}
        if len(sides) == 1:
            return Blame.REFERENCE if sides.pop() else Blame.LOADER
    return Blame.UNKNOWN


def as_dtypes_of(arrays: Arrays, like: Arrays) -> Arrays:
    """Round what a float64 arbiter gave to the dtypes of what it is compared with."""
    return {
        name: array.astype(like[name].dtype)
        if name in like and array.dtype.kind == "f" and like[name].dtype.kind in "fV"
        else array
        for name, array in arrays.items()
    }


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
