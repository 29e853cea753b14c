"""Judge by a run in float64: is our error larger than the reference's own?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from validation.judges.allclose import AllClose
from validation.judges.parameters import check_number
from validation.judges.protocol import Comparison, Context, Float64Run, Judge
from validation.judges.tolerances import ceiling_of, is_half, is_whole, root_mean_square

# One element may be off by this many times the reference's largest error: without such a bound a
# single wrong element is lost in the mean of a large output.
_LARGEST = 4.0


@dataclass(frozen=True)
class Float64:
    """Another judge first; where it fails, both results are compared with a float64 run.

    The result then passes if, over the elements that are finite,
    RMSE(ours, float64) ≤ factor · RMSE(reference, float64) + floor, and the largest error of ours
    is at most 4 times the reference's + floor. The floor, a tenth of the absolute tolerance, is
    what an exact reference leaves to ours.

    A mismatch stays one where the float64 run is not independent; where NaN or infinity is out of
    place; and where the reference's own error is too large to be one of rounding, since then the
    reference is wrong, and saying so is better than a pass.

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
        if first or not math.isfinite(first.needed_atol) or is_whole(reference.dtype):
            return first
        run = context.float64()
        if run is None:
            return _noted(first, "no float64 run was made")
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
        ceiling = ceiling_of(reference.dtype)
        if (their_errors > ceiling * (np.abs(exact) + root_mean_square(exact))).any():
            return _noted(first, "the reference's own error is too large to be one of rounding")
        factor = self._factor_for(reference.dtype)
        floor = self._floor(reference, context)
        if errors[0] > factor * errors[1] + floor or largest[0] > _LARGEST * largest[1] + floor:
            return first
        return replace(
            first,
            judge=f"float64:factor={factor:g} after {first.judge}",
            reason=None,
            message="",
            notes=(*first.notes, f"{first.message}, but no more than the reference's own error"),
        )

    def _factor_for(self, dtype: np.dtype) -> float:
        return self.factor or (3.0 if is_half(dtype) else 2.0)

    def _floor(self, reference: np.ndarray, context: Context) -> float:
        if not isinstance(self.inner, AllClose):
            return 0.0
        return self.inner.tolerances(reference, context)[1] / 10


def _noted(comparison: Comparison, note: str) -> Comparison:
    return replace(comparison, notes=(*comparison.notes, note))
