"""Judge by a run in float64: is our error larger than the reference's own?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from validation.judges.allclose import AllClose
from validation.judges.parameters import check_number
from validation.judges.protocol import Comparison, Context, Float64Run, Judge
from validation.judges.tolerances import (
    ceiling_of,
    epsilon_of,
    is_half,
    is_whole,
    root_mean_square,
)
from validation.vocabulary import Reason

# One element may be off by this many times the reference's largest error: without such a bound a
# single wrong element is lost in the mean of a large output.
_LARGEST = 4.0
# A reference whose error is this many times ours, and more than rounding, is not just unlucky.
_WORSE = 30.0
_ROUNDINGS = 4
# The share of the default tolerance that right runtimes seldom exceed.
_USUAL = 1 / 16


@dataclass(frozen=True)
class Float64:
    """Another judge first; where it fails, both results are compared with a float64 run.

    The result then passes if, over the elements that are finite,
    RMSE(ours, float64) ≤ factor · RMSE(reference, float64) + floor, and the largest error of ours
    is at most 4 times the reference's + floor. The floor, a tenth of the absolute tolerance, is
    what an exact reference leaves to ours.

    Results that are within the default tolerance, and yet further apart than right runtimes usually
    are, must pass that too where there is an independent run: small faults hide there.

    A mismatch stays one where the float64 run is not independent; where NaN or infinity is out of
    place; and where the reference's own error is too large to be one of rounding, or 30 times ours,
    since then the reference is wrong, and saying so is better than a pass.

    Attributes:
        factor: How many times the reference's error ours may be; None takes 2, and 3 for types of
            16 bits and fewer.
        inner: The judge that is asked first.

    Raises:
        InvalidInput: A factor below 1, NaN or infinite.
    """

    factor: float | None = None
    inner: Judge = field(default_factory=AllClose)

    def __post_init__(self) -> None:
        if self.factor is not None:
            check_number("factor", self.factor, 1.0)

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        first = self.inner.compare(output, ours, reference, context)
        if not math.isfinite(first.needed_atol) or is_whole(reference.dtype):
            return first
        if first and not self._is_doubtful(output, ours, reference, context):
            return first
        run = context.float64()
        if run is None:
            return first if first else _noted(first, "no float64 run was made")
        if run.array.shape != reference.shape:
            return _noted(first, f"the float64 run ({run.source}) has shape {run.array.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            return self._decide(first, ours, reference, context, run)

    def _decide(
        self,
        first: Comparison,
        ours: np.ndarray,
        reference: np.ndarray,
        context: Context,
        run: Float64Run,
    ) -> Comparison:
        wide = np.complex128 if reference.dtype.kind == "c" else np.float64
        exact = run.array.astype(wide)
        judged = np.isfinite(ours) & np.isfinite(reference)
        if not np.isfinite(exact[judged]).all():
            return _noted(first, f"the float64 run ({run.source}) is not finite where both are")
        exact = exact[judged]
        our_errors = np.abs(ours[judged].astype(wide) - exact)
        their_errors = np.abs(reference[judged].astype(wide) - exact)
        errors = [root_mean_square(our_errors), root_mean_square(their_errors)]
        largest = [float(our_errors.max(initial=0)), float(their_errors.max(initial=0))]
        first = _noted(
            first,
            f"RMSE against float64 ({run.source}): ours {errors[0]:.3g}, reference "
            f"{errors[1]:.3g}; largest error: ours {largest[0]:.3g}, reference {largest[1]:.3g}",
        )
        if not run.independent:
            return _noted(first, "the float64 run is not independent, so it decides nothing")
        factor = self._factor_for(reference.dtype)
        floor = self._floor(reference, context)
        if errors[0] > factor * errors[1] + floor or largest[0] > _LARGEST * largest[1] + floor:
            return _failed(first)
        if first:
            return first
        # Values between the layers are of order one, whatever the size of the output.
        rounding = _ROUNDINGS * epsilon_of(reference.dtype)
        allowed = ceiling_of(reference.dtype) * (np.abs(exact) + root_mean_square(exact))
        if (their_errors > np.maximum(allowed, rounding)).any():
            return _noted(first, "the reference's own error is too large to be one of rounding")
        if largest[1] > _WORSE * largest[0] + max(floor, rounding):
            return _noted(first, "the reference's own error is far larger than ours")
        return replace(
            first,
            judge=f"float64:factor={factor:g} after {first.judge}",
            reason=None,
            message="",
            notes=(*first.notes, f"{first.message}, but no more than the reference's own error"),
        )

    def _is_doubtful(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> bool:
        """Tell whether two results that pass by the default tolerance lie further apart than usual.

        Right runtimes seldom do: see ``validation.judges.tolerances`` for what was measured.
        """
        if not isinstance(self.inner, AllClose):
            return False
        if self.inner.rtol is not None or self.inner.atol is not None:
            return False
        rtol, atol = self.inner.tolerances(reference, context)
        usual = replace(self.inner, rtol=rtol * _USUAL, atol=atol * _USUAL)
        return not usual.compare(output, ours, reference, context)

    def _factor_for(self, dtype: np.dtype) -> float:
        return self.factor or (3.0 if is_half(dtype) else 2.0)

    def _floor(self, reference: np.ndarray, context: Context) -> float:
        if not isinstance(self.inner, AllClose):
            return 0.0
        return self.inner.tolerances(reference, context)[1] / 10


def _noted(comparison: Comparison, note: str) -> Comparison:
    return replace(comparison, notes=(*comparison.notes, note))


def _failed(comparison: Comparison) -> Comparison:
    """Make a mismatch of what passed by its tolerance alone."""
    if comparison.reason is not None:
        return comparison
    return replace(
        comparison,
        judge=f"float64 after {comparison.judge}",
        reason=Reason.WRONG_VALUES,
        message="within the tolerance, but further from the float64 run than the reference is",
    )
