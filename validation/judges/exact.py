"""Judge by equality, element by element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from validation.judges.blocks import Block
from validation.judges.figures import measure
from validation.judges.parameters import NonFinite, check_nonfinite, judge_text
from validation.judges.protocol import Comparison, Context


@dataclass(frozen=True)
class Exact:
    """Every element is the same number; zeros of both signs are one.

    Attributes:
        nonfinite: What is asked of NaN and infinity.

    Raises:
        InvalidInput: An unknown policy.
    """

    nonfinite: NonFinite = "same"

    def __post_init__(self) -> None:
        check_nonfinite(self.nonfinite)

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        measured = measure(ours, reference, nonfinite=self.nonfinite, rule=_unequal)
        return measured.verdict(output, judge_text("exact", self.nonfinite), measured.fault)


def _unequal(block: Block) -> np.ndarray:
    return np.asarray((block.ours != block.reference) & block.judged)
