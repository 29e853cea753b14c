"""Judge by the distance in units in the last place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation.judges.blocks import Block
from validation.judges.figures import measure
from validation.judges.parameters import NonFinite, check_nonfinite, check_number, judge_text
from validation.judges.protocol import Comparison, Context


@dataclass(frozen=True)
class ULP:
    """Every element is at most some numbers of its dtype away; for integers, that difference.

    It suits single operators. What a sum leaves near zero is any number of units away.

    Attributes:
        units: The largest distance that passes.
        nonfinite: What is asked of NaN and infinity.

    Raises:
        InvalidInput: A distance below 0, or an unknown policy.
    """

    units: float = 4.0
    nonfinite: NonFinite = "same"

    def __post_init__(self) -> None:
        check_nonfinite(self.nonfinite)
        check_number("units", self.units)

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        measured = measure(ours, reference, nonfinite=self.nonfinite, rule=self._beyond)
        text = judge_text("ulp", self.nonfinite, units=self.units)
        return measured.verdict(output, text, measured.fault)

    def _beyond(self, block: Block) -> np.ndarray:
        return np.asarray(block.ulp > self.units)
