"""Tell which known failures some results did not need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from validation.expectations.applying import as_measured
from validation.expectations.record import Expectation
from validation.result import CheckResult
from validation.vocabulary import Status


def unused(expectations: Iterable[Expectation], rows: Sequence[CheckResult]) -> list[str]:
    """Say of each known failure that no row failed by what was found instead, a line each."""
    measured = [as_measured(row) for row in rows]
    return [
        f"{each.case} ({each.reason.value} at {each.stage.value}): {_instead(each, measured)}"
        for each in expectations
        if not any(_fails_so(each, row) for row in measured)
    ]


def _fails_so(expectation: Expectation, row: CheckResult) -> bool:
    failed = row.status is Status.FAIL
    return failed and expectation.applies_to(row) and expectation.is_met_by(row)


def _instead(expectation: Expectation, rows: Sequence[CheckResult]) -> str:
    about = [row for row in rows if fnmatchcase(row.id, expectation.case)]
    found = list(dict.fromkeys(_end_of(expectation, row) for row in about))
    return "; ".join(found) if found else "the results have no such row"


def _end_of(expectation: Expectation, row: CheckResult) -> str:
    why_not = expectation.why_not(row)
    if why_not:
        return f"{row.id} does not count: {why_not}"
    if row.status is Status.FAIL and row.stage and row.reason:
        return f"{row.id} fails by {row.reason.value} at {row.stage.value}"
    return f"{row.id} {'passes' if row.status is Status.PASS else 'was skipped'}"
