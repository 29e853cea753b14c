"""Judge by |ours − reference| ≤ atol + rtol · |reference|, elementwise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forge import InvalidInput
from validation.judges.protocol import Comparison
from validation.vocabulary import Reason

# Relative tolerances by precision. They allow for the order of summation in deep networks:
# a float32 network of 50 layers differs by some 1e-5 of its output's size between runtimes.
_TOLERANCE = {2: 1e-2, 4: 1e-4, 8: 1e-9}


@dataclass(frozen=True)
class AllClose:
    """Compare within a tolerance; integers and booleans exactly, unless ``atol`` is given.

    NaN and infinities must stand in the same places.

    Attributes:
        rtol: Relative tolerance; None takes one that fits the dtype.
        atol: Absolute tolerance; None takes the dtype's relative one times the root mean square
            of the reference, so that it neither swallows small outputs nor alarms on large ones.

    Raises:
        InvalidInput: A tolerance that is negative, NaN or infinite: the latter two pass anything.
    """

    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InvalidInput(f"{name} is {value}, expected a finite number of at least 0.")

    def compare(self, output: str, ours: np.ndarray, reference: np.ndarray) -> Comparison:
        """Compare one output; see ``Judge.compare``."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._compare(output, ours, reference)

    def _compare(self, output: str, ours: np.ndarray, reference: np.ndarray) -> Comparison:
        wide_ours, wide_reference = _widen(ours), _widen(reference)
        rtol, atol = self._tolerances(reference, wide_reference)
        name = f"allclose(rtol={rtol:g}, atol={atol:.3g})"
        finite = np.isfinite(wide_ours) & np.isfinite(wide_reference)
        counts = (
            int(np.size(wide_ours) - np.isfinite(wide_ours).sum()),
            int(np.size(wide_reference) - np.isfinite(wide_reference).sum()),
        )
        misplaced = ~finite & ~_same_not_finite(wide_ours, wide_reference)
        difference = np.where(finite, _distance(wide_ours, wide_reference, finite), 0)
        magnitude = np.where(finite, _magnitude(wide_reference), 0)
        excess = difference - rtol * magnitude
        worst = _worst(misplaced, difference)
        figures = _figures(wide_ours[worst], wide_reference[worst]) if ours.size else (0.0, 0.0)
        nonzero = finite & (magnitude > 0)
        relative = difference[nonzero] / magnitude[nonzero]
        reason, message, needed = None, "", max(0.0, float(excess.max(initial=0)))
        if misplaced.any():
            needed = math.inf
            reason = Reason.WRONG_VALUES
            message = f"{int(misplaced.sum())} elements are NaN or infinite in only one of both"
        elif difference.size and (excess > atol).any():
            reason = Reason.WRONG_VALUES
            message = f"{int((excess > atol).sum())} of {difference.size} elements differ"
        return Comparison(
            output,
            name,
            reason,
            message,
            max_absolute=float(difference.max(initial=0)),
            mean_absolute=float(difference[finite].mean()) if finite.any() else 0.0,
            max_relative=float(relative.max(initial=0)),
            needed_atol=needed,
            worst_index=worst,
            worst_ours=figures[0],
            worst_reference=figures[1],
            not_finite=counts,
        )

    def _tolerances(self, reference: np.ndarray, wide: np.ndarray) -> tuple[float, float]:
        default = 0.0 if reference.dtype.kind in "biu" else _TOLERANCE[_bytes_of_float(reference)]
        rtol = default if self.rtol is None else self.rtol
        if self.atol is not None:
            return rtol, self.atol
        values = _magnitude(wide[np.isfinite(wide)])
        largest = float(values.max(initial=0))
        if not default or not largest:
            return rtol, 0.0
        # Scaled first: the square of a value near float64's largest would overflow.
        return rtol, default * largest * float(np.sqrt(np.mean(np.square(values / largest))))


def _bytes_of_float(array: np.ndarray) -> int:
    size = array.dtype.itemsize
    if array.dtype.kind == "c":
        size //= 2
    return min(max(size, 2), 8)


def _widen(array: np.ndarray) -> np.ndarray:
    """Make differences exact enough to judge; integers stay integers, so 2**53 + 1 is itself."""
    if array.dtype.kind in "iu":
        return array
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _distance(ours: np.ndarray, reference: np.ndarray, finite: np.ndarray) -> np.ndarray:
    if ours.dtype.kind in "iu":
        # Modular subtraction of the smaller from the larger is exact in the unsigned type.
        high, low = np.maximum(ours, reference), np.minimum(ours, reference)
        unsigned = np.dtype(f"u{ours.dtype.itemsize}")
        return np.asarray((high.astype(unsigned) - low.astype(unsigned)).astype(np.float64))
    return _magnitude(np.where(finite, ours, 0) - np.where(finite, reference, 0))


def _magnitude(array: np.ndarray) -> np.ndarray:
    # In the integer's own type |-128| would be -128.
    values = array.astype(np.float64) if array.dtype.kind in "iu" else array
    return np.asarray(np.abs(values))


def _same_not_finite(ours: np.ndarray, reference: np.ndarray) -> np.ndarray:
    if ours.dtype.kind == "c":
        real = _same_not_finite(ours.real, reference.real)
        return np.asarray(real & _same_not_finite(ours.imag, reference.imag))
    return np.asarray((ours == reference) | (np.isnan(ours) & np.isnan(reference)))


def _figures(ours: np.generic, reference: np.generic) -> tuple[float, float]:
    """Give both values as floats; of complex ones the part that differs more."""
    if not isinstance(ours, np.complexfloating) or not isinstance(reference, np.complexfloating):
        return float(ours), float(reference)  # type: ignore[arg-type]
    parts = [(float(ours.real), float(reference.real)), (float(ours.imag), float(reference.imag))]
    return max(parts, key=lambda pair: _unlikeness(*pair))


def _unlikeness(ours: float, reference: float) -> float:
    if ours == reference or (math.isnan(ours) and math.isnan(reference)):
        return 0.0
    difference = abs(ours - reference)
    return math.inf if math.isnan(difference) else difference


def _worst(misplaced: np.ndarray, difference: np.ndarray) -> tuple[int, ...]:
    if not difference.size:
        return ()
    flat = misplaced.argmax() if misplaced.any() else difference.argmax()
    return tuple(int(i) for i in np.unravel_index(flat, difference.shape))
