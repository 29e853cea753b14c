"""Compute every figure of a comparison once, whatever the judge decides by."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from validation.judges.blocks import Block, blocks, check_numbers
from validation.judges.parameters import NonFinite
from validation.judges.protocol import Comparison
from validation.judges.tolerances import root_mean_square
from validation.vocabulary import Reason

Rule = Callable[[Block], np.ndarray]
_EDGES = tuple(10.0**power for power in range(-8, 1))


@dataclass(frozen=True)
class Figures:
    """How two arrays differ, without a verdict.

    Attributes:
        size: How many elements each has.
        misplaced: How many break the policy for NaN and infinity.
        failing: How many break the judge's rule.
        fault: What to say of the latter; empty where there are none.
        ignored: How many the policy takes out, though they are not the same.
        figures: Everything measured, in a comparison that has neither name nor verdict.
    """

    size: int
    misplaced: int
    failing: int
    fault: str
    ignored: int
    figures: Comparison

    def verdict(
        self, output: str, judge: str, fault: str = "", notes: Sequence[str] = ()
    ) -> Comparison:
        """Make the comparison.

        Args:
            output: Its name.
            judge: Which judge decided, with its parameters.
            fault: Why the values are wrong; empty where they are not.
            notes: What else there is to say.
        """
        if self.misplaced:
            fault = f"{self.misplaced} elements are NaN or infinite in only one of both"
        if self.ignored:
            text = f"{self.ignored} elements are not judged, where the reference is not finite"
            notes = [*notes, text]
        return replace(
            self.figures,
            output=output,
            judge=judge,
            reason=Reason.WRONG_VALUES if fault else None,
            message=fault,
            notes=tuple(notes),
        )


def measure(
    ours: np.ndarray,
    reference: np.ndarray,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    nonfinite: NonFinite = "same",
    rule: Rule | None = None,
) -> Figures:
    """Measure how two arrays of one shape and dtype differ.

    Args:
        ours, reference: Numbers of any dtype.
        rtol, atol: What ``needed_atol`` and ``needed_rtol`` refer to.
        nonfinite: What is asked of NaN and infinity.
        rule: Says which elements of a block are wrong; those beyond ``rtol`` and ``atol`` where
            left out.

    Raises:
        InvalidInput: The arrays hold no numbers.
    """
    check_numbers(reference.dtype)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        tally = _Tally(root_mean_square(reference), rtol, atol, nonfinite, rule)
        for block in blocks(ours, reference):
            tally.add(block)
        return tally.figures(ours, reference)


class _Tally:
    """Sums up blocks."""

    def __init__(
        self, scale: float, rtol: float, atol: float, nonfinite: NonFinite, rule: Rule | None
    ) -> None:
        self._scale, self._rtol, self._atol = scale, rtol, atol
        self._nonfinite, self._rule = nonfinite, rule
        self._histogram = np.zeros(12, np.int64)
        self._nan, self._infinite = [0, 0], [0, 0]
        self._count = self._relatives = 0
        self._sums, self._maxima = np.zeros(3), np.zeros(3)
        self._needed_atol = self._needed_rtol = 0.0
        self._misplaced = self._ignored = self._failing = 0
        self._first_misplaced = self._first_failing = self._worst = -1

    def add(self, block: Block) -> None:
        if not block.all_judged:
            self._add_nonfinite(block)
        judged = block.ours.size if block.all_judged else int(np.count_nonzero(block.judged))
        self._histogram[-1] += block.ours.size - judged
        self._count += judged
        different = int(np.count_nonzero(block.difference))
        self._histogram[0] += judged - different
        self._relatives += int(np.count_nonzero(block.magnitude))
        if different:
            self._add_differences(block, different)
        if self._worst < 0 and judged:
            self._worst = block.start + int(block.judged.argmax())
        self._add_failing(block, bool(different))

    def _add_nonfinite(self, block: Block) -> None:
        for side, values in enumerate((block.ours, block.reference)):
            nan = np.isnan(values)
            self._nan[side] += int(np.count_nonzero(nan))
            self._infinite[side] += int(np.count_nonzero(np.isinf(values) & ~nan))
        other = ~block.judged & ~_same(block.ours, block.reference)
        if self._nonfinite != "same":
            excused = np.isnan(block.reference)
            if self._nonfinite == "ignore":
                excused = ~np.isfinite(block.reference)
            self._ignored += int(np.count_nonzero(other & excused))
            other &= ~excused
        if other.any():
            if not self._misplaced:
                self._first_misplaced = block.start + int(other.argmax())
            self._misplaced += int(np.count_nonzero(other))

    def _add_differences(self, block: Block, different: int) -> None:
        difference, magnitude, unit = block.difference, block.magnitude, block.unit
        self._add_histogram(difference, different, self._scale / unit)
        relative = difference / magnitude
        if not magnitude.all():
            relative = relative[magnitude > 0]
        absolute = difference * unit
        self._sums += (absolute.sum(), relative.sum(), block.ulp.sum())
        worst = int(absolute.argmax())
        largest = float(absolute[worst])
        if largest > self._maxima[0]:
            self._worst = block.start + worst
        most = (largest, relative.max(initial=0.0), block.ulp.max())
        self._maxima = np.maximum(self._maxima, most)
        excess = difference - self._rtol * magnitude
        self._needed_atol = max(self._needed_atol, float((excess * unit).max()))
        over = difference - self._atol / unit
        wanted = over[over > 0] / magnitude[over > 0]
        self._needed_rtol = max(self._needed_rtol, float(wanted.max(initial=0.0)))

    def _add_histogram(
        self, difference: np.ndarray, different: int, scale: float | np.ndarray
    ) -> None:
        below = difference.size - different
        for place, edge in enumerate(_EDGES, start=1):
            count = int(np.count_nonzero(difference < edge * scale))
            count = max(count, below)
            self._histogram[place] += count - below
            below = count
        self._histogram[-2] += difference.size - below

    def _add_failing(self, block: Block, different: bool) -> None:
        if self._rule is not None:
            failing = self._rule(block)
        elif different:
            excess = block.difference - self._rtol * block.magnitude
            failing = excess > self._atol / block.unit
        else:
            return
        count = int(np.count_nonzero(failing))
        if count and not self._failing:
            self._first_failing = block.start + int(failing.argmax())
        self._failing += count

    def figures(self, ours: np.ndarray, reference: np.ndarray) -> Figures:
        worst = self._first_misplaced if self._misplaced else self._worst
        sums, maxima, count = self._sums, [float(m) for m in self._maxima], self._count
        infinite = math.inf if self._misplaced else 0.0
        index, values = _element(ours, reference, worst)
        figures = Comparison(
            "",
            "",
            max_absolute=maxima[0],
            mean_absolute=_mean(sums[0], count),
            max_relative=maxima[1],
            mean_relative=_mean(sums[1], self._relatives),
            max_ulp=maxima[2],
            mean_ulp=_mean(sums[2], count),
            needed_atol=max(self._needed_atol, infinite),
            needed_rtol=max(_above(self._needed_rtol), infinite),
            worst_index=index,
            worst_ours=values[0],
            worst_reference=values[1],
            nan=(self._nan[0], self._nan[1]),
            infinite=(self._infinite[0], self._infinite[1]),
            histogram=tuple(int(n) for n in self._histogram),
        )
        fault = self._fault(ours, reference)
        return Figures(ours.size, self._misplaced, self._failing, fault, self._ignored, figures)

    def _fault(self, ours: np.ndarray, reference: np.ndarray) -> str:
        if not self._failing:
            return ""
        text = f"{self._failing} of {ours.size} elements differ"
        if self._first_failing != self._worst:
            index, _ = _element(ours, reference, self._first_failing)
            text += f", first at {list(index)}"
        if ours.dtype.kind in "iu":
            a, b = (int(x.reshape(-1)[self._worst]) for x in (ours, reference))
            if float(a) == float(b):
                text += f" (exactly {a}, reference {b})"
        return text


def _mean(total: float, count: int) -> float:
    return float(total) / count if count else 0.0


def _above(value: float) -> float:
    """Allow for the rounding of a division, so that the tolerance passes when it is used."""
    return float(np.nextafter(value * (1 + 2**-50), math.inf)) if value else 0.0


def _same(ours: np.ndarray, reference: np.ndarray) -> np.ndarray:
    if ours.dtype.kind == "c":
        real = _same(ours.real, reference.real)
        return np.asarray(real & _same(ours.imag, reference.imag))
    return np.asarray((ours == reference) | (np.isnan(ours) & np.isnan(reference)))


def _element(
    ours: np.ndarray, reference: np.ndarray, place: int
) -> tuple[tuple[int, ...], tuple[float, float]]:
    """Give an element's index and both its values; of complex ones the part that differs more."""
    if place < 0:
        return (), (0.0, 0.0)
    index = tuple(int(i) for i in np.unravel_index(place, ours.shape))
    a, b = ours.reshape(-1)[place], reference.reshape(-1)[place]
    if ours.dtype.kind != "c":
        return index, (float(a), float(b))
    parts = [(float(a.real), float(b.real)), (float(a.imag), float(b.imag))]
    return index, max(parts, key=lambda pair: _unlikeness(*pair))


def _unlikeness(ours: float, reference: float) -> float:
    if ours == reference or (math.isnan(ours) and math.isnan(reference)):
        return 0.0
    difference = abs(ours - reference)
    return math.inf if math.isnan(difference) else difference
