"""What judges take as parameters, how these are checked, and how a judge is written down."""

from __future__ import annotations

import math
from typing import Literal, get_args

from forge import InvalidInput

NonFinite = Literal["same", "ignore-nan", "ignore"]
"""What a judge asks of NaN and infinity.

``same``: they stand in the same places of both, infinity with the same sign. ``ignore-nan``: where
the reference is NaN nothing is asked, as a result is not defined there. ``ignore``: where it is
NaN or infinite. A NaN of ours where the reference has a number is wrong under each of them.
"""


def check_nonfinite(value: str) -> None:
    """Make sure that a policy is one of ``NonFinite``.

    Raises:
        InvalidInput: It is not.
    """
    if value not in get_args(NonFinite):
        raise InvalidInput(
            f"nonfinite is {value!r}, expected one of {', '.join(get_args(NonFinite))}."
        )


def check_number(name: str, value: float, low: float = 0.0, high: float = math.inf) -> None:
    """Make sure that a parameter is a finite number within limits, which belong to it.

    Raises:
        InvalidInput: It is not; NaN and infinity are refused since they would pass anything.
    """
    if not (math.isfinite(value) and low <= value <= high):
        most = f" and at most {high:g}" if math.isfinite(high) else ""
        raise InvalidInput(
            f"{name} is {value}, expected a finite number of at least {low:g}{most}."
        )


def read_number(text: str) -> float | None:
    """Read a number, a whole one as an int; None where the text is none."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def judge_text(name: str, nonfinite: NonFinite = "same", **values: float | None) -> str:
    """Write a judge with its parameters, as ``parse_judge`` reads it."""
    parts = [f"{key}={value:.3g}" for key, value in values.items() if value is not None]
    if nonfinite != "same":
        parts.append(f"nonfinite={nonfinite}")
    return f"{name}:{','.join(parts)}" if parts else name
