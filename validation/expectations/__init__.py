"""Known failures: which case fails at which stage, for which reason, and where that is tracked."""

from validation.expectations.applying import apply_expectations, as_measured, update_command
from validation.expectations.reading import read_expectations
from validation.expectations.record import Expectation

__all__ = [
    "Expectation",
    "apply_expectations",
    "as_measured",
    "read_expectations",
    "update_command",
]
