"""Judge by the cosine of the angle between both outputs, taken as vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from validation.judges.blocks import scaled_pairs, sum_of_squares
from validation.judges.figures import measure
from validation.judges.parameters import NonFinite, check_nonfinite, check_number, judge_text
from validation.judges.protocol import Comparison, Context


@dataclass(frozen=True)
class Cosine:
    """Both outputs point the same way; a factor common to all elements is not seen.

    Attributes:
        least: The smallest cosine that passes.
        nonfinite: What is asked of NaN and infinity.

    Raises:
        InvalidInput: A cosine outside of −1 to 1, or an unknown policy.
    """

    least: float = 0.999
    nonfinite: NonFinite = "same"

    def __post_init__(self) -> None:
        check_nonfinite(self.nonfinite)
        check_number("least", self.least, -1.0, 1.0)

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        measured = measure(ours, reference, nonfinite=self.nonfinite)
        distance = _distance(ours, reference)
        figure = f"1 - cosine is {distance:.6g}"
        fault = "" if distance <= 1 - self.least else figure
        text = judge_text("cosine", self.nonfinite, least=self.least)
        return measured.verdict(output, text, fault, [figure])


def _distance(ours: np.ndarray, reference: np.ndarray) -> float:
    """Give 1 − cosine as ½‖a/‖a‖ − b/‖b‖‖², which keeps its digits where the cosine is near 1."""
    lengths = [0.0, 0.0]
    for a, b in scaled_pairs(ours, reference):
        lengths[0] += sum_of_squares(a)
        lengths[1] += sum_of_squares(b)
    ours_length, reference_length = (math.sqrt(length) for length in lengths)
    if not (ours_length and reference_length):
        return float(bool(ours_length or reference_length))
    return 0.5 * sum(
        sum_of_squares(a / ours_length - b / reference_length)
        for a, b in scaled_pairs(ours, reference)
    )
