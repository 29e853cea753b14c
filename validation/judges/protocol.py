"""What a judge is: an object that compares one output with its reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from validation.vocabulary import Reason


@dataclass(frozen=True)
class Comparison:
    """How one output compares with its reference; truthy when it passes.

    Attributes:
        output: Its name.
        judge: Which judge decided, with its parameters.
        reason: Why it fails; None when it passes.
        message: One line for a reader.
        max_absolute: Largest |ours − reference| over the elements that are finite in both.
        mean_absolute: The mean of the same.
        max_relative: Largest |ours − reference| / |reference|, where the reference is not 0.
        needed_atol: The absolute tolerance that would pass at the judge's relative one; infinite
            where none would, as with another shape or a NaN in only one of both.
        worst_index: Where the largest |ours − reference| is.
        worst_ours: The value there.
        worst_reference: The reference's value there.
        not_finite: Elements that are NaN or infinite in ours and in the reference.
    """

    output: str
    judge: str
    reason: Reason | None = None
    message: str = ""
    max_absolute: float = 0.0
    mean_absolute: float = 0.0
    max_relative: float = 0.0
    needed_atol: float = 0.0
    worst_index: tuple[int, ...] = ()
    worst_ours: float = 0.0
    worst_reference: float = 0.0
    not_finite: tuple[int, int] = (0, 0)

    def __bool__(self) -> bool:
        return self.reason is None


class Judge(Protocol):
    """Decides whether two arrays of the same shape and dtype are the same result."""

    def compare(self, output: str, ours: np.ndarray, reference: np.ndarray) -> Comparison:
        """Compare one output.

        Args:
            output: Its name.
            ours: What Forge's compiled module gave.
            reference: What the framework gave; the same shape and dtype.
        """
        ...
