"""Judge quantised results by whole steps of their scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forge import InvalidInput
from validation.judges.blocks import Block
from validation.judges.figures import measure
from validation.judges.parameters import NonFinite, check_nonfinite, check_number, judge_text
from validation.judges.protocol import Comparison, Context


@dataclass(frozen=True)
class Quantised:
    """No element is more than some steps off, and few are off at all.

    Two right implementations of a quantised operator differ by a step where a value lies on the
    edge between two. A share of a small output allows at least one element.

    Attributes:
        steps: How many steps an element may be off.
        share: The largest share of elements that may be off at all.
        scale: The size of a step of a floating-point output; integers have steps of 1.
        nonfinite: What is asked of NaN and infinity.

    Raises:
        InvalidInput: A number out of its range, or an unknown policy; when comparing, an output
            that is neither of 8 or 16 bits nor floating-point with a scale.
    """

    steps: float = 1.0
    share: float = 0.01
    scale: float | None = None
    nonfinite: NonFinite = "same"

    def __post_init__(self) -> None:
        check_nonfinite(self.nonfinite)
        check_number("steps", self.steps)
        check_number("share", self.share, 0.0, 1.0)
        if self.scale is not None:
            check_number("scale", self.scale)
            if not self.scale:
                raise InvalidInput("scale is 0, expected the size of a quantisation step.")

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        scale = self._scale_of(output, reference.dtype)
        # An element half a step off has been rounded to another step.
        measured = measure(
            ours, reference, nonfinite=self.nonfinite, rule=lambda block: _beyond(block, scale, 0)
        )
        off = measured.failing
        far = measure(
            ours,
            reference,
            nonfinite=self.nonfinite,
            rule=lambda block: _beyond(block, scale, self.steps),
        ).failing
        allowed = math.ceil(self.share * ours.size)
        fault = ""
        if far:
            fault = f"{far} of {ours.size} elements are more than {self.steps:g} steps off"
        elif off > allowed:
            fault = f"{off} of {ours.size} elements are off, at most {allowed} may be"
        text = judge_text(
            "quantised", self.nonfinite, steps=self.steps, share=self.share, scale=self.scale
        )
        return measured.verdict(output, text, fault, [f"{off} elements are off by a step or more"])

    def _scale_of(self, output: str, dtype: np.dtype) -> float:
        if dtype.kind in "iu" and dtype.itemsize <= 2:
            return 1.0
        if dtype.kind in "fV" and self.scale is not None:
            return self.scale
        raise InvalidInput(
            f"the quantised judge takes 8-bit and 16-bit integers, and floating-point outputs "
            f"with scale=; output {output!r} is {dtype}.",
            hint="choose another judge for it: --judge OUTPUT=SPEC",
        )


def _beyond(block: Block, scale: float, steps: float) -> np.ndarray:
    return np.asarray(block.difference * block.unit > (steps + 0.5) * scale)
