"""What a judge is: an object that compares one output with its reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from validation.vocabulary import Reason


@dataclass(frozen=True)
class Comparison:
    """How one output compares with its reference; truthy when it passes.

    Differences are taken over the elements that are finite in both. A histogram counts elements
    by |ours − reference| over the root mean square of the reference: equal; below 1e-8, 1e-7 and
    so on to below 1; 1 and more; and last those that are not finite in either: 12 counts.

    Attributes:
        output: Its name.
        judge: Which judge decided, with its parameters.
        reason: Why it fails; None when it passes.
        message: One line for a reader.
        max_absolute: Largest |ours − reference|.
        mean_absolute: The mean of the same.
        max_relative: Largest |ours − reference| / |reference|, where the reference is not 0.
        mean_relative: The mean of the same.
        max_ulp: Largest distance in units in the last place of the output's dtype; for integers
            the difference.
        mean_ulp: The mean of the same.
        needed_atol: The absolute tolerance that would pass at the judge's relative one; infinite
            where none would, as with another shape or a NaN in only one of both.
        needed_rtol: The relative tolerance that would pass at the judge's absolute one; infinite
            where none would.
        worst_index: Where the largest |ours − reference| is.
        worst_ours: The value there.
        worst_reference: The reference's value there.
        nan: Elements that are NaN in ours and in the reference.
        infinite: Elements that are infinite in ours and in the reference.
        histogram: Counts of elements by size of error, see above; empty when not comparable.
        sample: Which set of inputs, counted from 0.
        notes: What else there is to say, such as the errors against a float64 run.
    """

    output: str
    judge: str
    reason: Reason | None = None
    message: str = ""
    max_absolute: float = 0.0
    mean_absolute: float = 0.0
    max_relative: float = 0.0
    mean_relative: float = 0.0
    max_ulp: float = 0.0
    mean_ulp: float = 0.0
    needed_atol: float = 0.0
    needed_rtol: float = 0.0
    worst_index: tuple[int, ...] = ()
    worst_ours: float = 0.0
    worst_reference: float = 0.0
    nan: tuple[int, int] = (0, 0)
    infinite: tuple[int, int] = (0, 0)
    histogram: tuple[int, ...] = ()
    sample: int = 0
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.reason is None


@dataclass(frozen=True)
class Float64Run:
    """The same output of the same model on the same inputs, computed in float64.

    Attributes:
        array: float64, of the output's shape.
        source: What computed it, for a reader.
        independent: The model's own framework, or another implementation of it, did. Where only
            Forge's IR can be evaluated in float64 this is False: a fault of the loader is then in
            both, so such a run must never overturn a mismatch.
    """

    array: np.ndarray
    source: str
    independent: bool


def _no_float64_run() -> Float64Run | None:
    return None


@dataclass(frozen=True)
class Context:
    """What a judge may want to know beside the two arrays.

    Attributes:
        accumulations: How many roundings stand one behind the other on the longest way through
            the model (``forge.accumulation``), with which errors grow; at least 1.
        float64: Gives a float64 run of this output, or None where there is none. It is made
            when it is first asked for, since it costs a run of the model.
    """

    accumulations: int = 1
    float64: Callable[[], Float64Run | None] = _no_float64_run


class Judge(Protocol):
    """Decides whether two arrays of the same shape and dtype are the same result."""

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output.

        Args:
            output: Its name.
            ours: What Forge's compiled module gave.
            reference: What the framework gave; the same shape and dtype.
            context: What else is known.
        """
        ...
