"""Judge by which elements are the largest of each row, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forge import InvalidInput
from validation.judges.figures import measure
from validation.judges.parameters import NonFinite, check_nonfinite, check_number, judge_text
from validation.judges.protocol import Comparison, Context
from validation.judges.tolerances import relative_tolerance, root_mean_square


@dataclass(frozen=True)
class TopK:
    """The k largest elements along the last axis are the same ones, in the same order.

    Elements of the reference that lie within its resolution of each other may change places: the
    default relative tolerance times the root mean square of the reference. Where
    elements of ours are equal, they count in the order that is worst.

    Attributes:
        k: How many; a shorter axis is compared as a whole.
        nonfinite: What is asked of NaN and infinity. NaN ranks below all numbers.

    Raises:
        InvalidInput: ``k`` below 1, or an unknown policy; when comparing, complex numbers or an
            output without a last axis of at least two elements.
    """

    k: int = 5
    nonfinite: NonFinite = "same"

    def __post_init__(self) -> None:
        check_nonfinite(self.nonfinite)
        check_number("k", self.k, 1)
        if not isinstance(self.k, int):
            raise InvalidInput(f"k is {self.k}, expected a whole number.")

    def compare(
        self, output: str, ours: np.ndarray, reference: np.ndarray, context: Context
    ) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        if reference.ndim == 0 or reference.shape[-1] < 2 or reference.dtype.kind == "c":
            raise InvalidInput(
                f"the topk judge compares the order of real numbers along the last axis; output "
                f"{output!r} is {reference.dtype} of shape {reference.shape}.",
                hint="choose another judge for it: --judge OUTPUT=SPEC",
            )
        measured = measure(ours, reference, nonfinite=self.nonfinite)
        resolution = relative_tolerance(reference.dtype, context.accumulations)
        resolution *= root_mean_square(reference)
        mine, theirs = _ranked(ours), _ranked(reference)
        if self.nonfinite != "same":
            excused = np.isnan(theirs) if self.nonfinite == "ignore-nan" else ~np.isfinite(theirs)
            mine[excused], theirs[excused] = -np.inf, -np.inf
        mine[np.isnan(mine)], theirs[np.isnan(theirs)] = -np.inf, -np.inf
        fault = self._fault(mine, theirs, resolution)
        return measured.verdict(output, judge_text("topk", self.nonfinite, k=self.k), fault)

    def _fault(self, ours: np.ndarray, reference: np.ndarray, resolution: float) -> str:
        """Count the rows whose order differs, and describe the first; empty where none does."""
        *leading, length = reference.shape
        wrong, first = 0, ""
        rows = zip(ours.reshape(-1, length), reference.reshape(-1, length))
        for number, (mine, theirs) in enumerate(rows):
            best = np.argsort(-theirs, kind="stable")[: self.k]
            # The last key counts most: ours, falling; where equal, the reference, rising.
            chosen = np.lexsort((theirs, -mine))[: self.k]
            expected, found = theirs[best], theirs[chosen]
            with np.errstate(invalid="ignore"):
                same = (expected == found) | (np.abs(expected - found) <= resolution)
            if not same.all():
                wrong += 1
                if not first:
                    row = [int(i) for i in np.unravel_index(number, leading)]
                    order = f"best are {chosen.tolist()}, the reference's {best.tolist()}"
                    first = f"row {row}: the {order}" if leading else f"the {order}"
        return f"{wrong} rows have another order; {first}" if wrong > 1 else first


def _ranked(array: np.ndarray) -> np.ndarray:
    """Give float64 in the same order; 64-bit integers, which it cannot hold, become ranks."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        ranks = np.unique(array, return_inverse=True)[1]
        return np.asarray(ranks.reshape(array.shape).astype(np.float64))
    return array.astype(np.float64)
