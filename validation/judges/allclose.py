"""Judge by |ours − reference| ≤ atol + rtol · |reference|, element by element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation.judges.figures import measure
from validation.judges.parameters import NonFinite, check_nonfinite, check_number, judge_text
from validation.judges.protocol import Comparison, Context
from validation.judges.tolerances import is_whole, relative_tolerance, root_mean_square


@dataclass(frozen=True)
class AllClose:
    """Compare within a tolerance; integers and booleans exactly, unless one is given.

    Attributes:
        rtol: Relative tolerance; None takes one that fits the dtype and the depth of the model.
        atol: Absolute tolerance; None takes the relative one times the root mean square of the
            reference, so that it neither swallows small outputs nor alarms on large ones; 0 for
            integers.
        nonfinite: What is asked of NaN and infinity.

    Raises:
        InvalidInput: A tolerance that is negative, NaN or infinite, or an unknown policy.
    """

    rtol: float | None = None
    atol: float | None = None
    nonfinite: NonFinite = "same"

    def __post_init__(self) -> None:
        check_nonfinite(self.nonfinite)
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if value is not None:
                check_number(name, value)

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        rtol, atol = self.tolerances(reference, context)
        measured = measure(ours, reference, rtol=rtol, atol=atol, nonfinite=self.nonfinite)
        text = judge_text("allclose", self.nonfinite, rtol=rtol, atol=atol)
        return measured.verdict(output, text, measured.fault)

    def tolerances(self, reference: np.ndarray, context: Context) -> tuple[float, float]:
        """Give the relative and the absolute tolerance for one output."""
        rtol = self.rtol
        if rtol is None:
            rtol = relative_tolerance(reference.dtype, context.accumulations)
        if self.atol is not None:
            return rtol, self.atol
        if is_whole(reference.dtype):
            return rtol, 0.0
        return rtol, rtol * root_mean_square(reference)
