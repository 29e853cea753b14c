"""Judge by ‖ours − reference‖ / ‖reference‖ over the whole output."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from validation.judges.blocks import scaled_pairs, sum_of_squares
from validation.judges.figures import measure
from validation.judges.parameters import NonFinite, check_nonfinite, check_number, judge_text
from validation.judges.protocol import Comparison, Context


@dataclass(frozen=True)
class RelativeL2:
    """The difference is small beside the reference, as a whole.

    One wrong element among many is not seen: where that matters, take another judge.

    Attributes:
        limit: The largest ratio that passes.
        nonfinite: What is asked of NaN and infinity.

    Raises:
        InvalidInput: A limit that is negative, NaN or infinite, or an unknown policy.
    """

    limit: float = 1e-3
    nonfinite: NonFinite = "same"

    def __post_init__(self) -> None:
        check_nonfinite(self.nonfinite)
        check_number("limit", self.limit)

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        measured = measure(ours, reference, nonfinite=self.nonfinite)
        ratio = _ratio(ours, reference)
        fault = "" if ratio <= self.limit else f"the relative L2 error is {ratio:.6g}"
        text = judge_text("l2", self.nonfinite, limit=self.limit)
        return measured.verdict(output, text, fault, [f"relative L2 error {ratio:.6g}"])


def _ratio(ours: np.ndarray, reference: np.ndarray) -> float:
    off = size = 0.0
    for a, b in scaled_pairs(ours, reference):
        off += sum_of_squares(a - b)
        size += sum_of_squares(b)
    if not off:
        return 0.0
    return math.sqrt(off / size) if size else math.inf
