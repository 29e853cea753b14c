"""Tell expected failures from others."""

from __future__ import annotations

from collections.abc import Iterable

from validation.expectations.record import Expectation
from validation.result import CheckResult
from validation.vocabulary import Status

UPDATE = "forge expectations update RESULTS.jsonl"


def apply_expectations(row: CheckResult, expectations: Iterable[Expectation]) -> CheckResult:
    """Turn an expected failure into XFAIL, and a pass that was not expected into XPASS.

    A case that fails at another stage or for another reason than expected stays a FAIL.
    """
    expected = [each for each in expectations if each.applies_to(row)]
    if not expected or row.status not in (Status.PASS, Status.FAIL):
        return row
    if row.status is Status.PASS:
        text = f"{expected[0].why} ({expected[0].link})"
        message = (
            f"passes, and was expected to fail at {expected[0].stage.value}: {text}; "
            f"'{UPDATE}' takes it off the list"
        )
        return row.changed(status=Status.XPASS, message=message, expectation=text)
    for each in expected:
        if (row.stage, row.reason) == (each.stage, each.reason):
            return row.changed(status=Status.XFAIL, expectation=f"{each.why} ({each.link})")
    wanted = " or ".join(f"{each.reason.value} at {each.stage.value}" for each in expected)
    return row.changed(message=f"{row.message} (expected {wanted}; '{UPDATE}' changes the list)")


def as_measured(row: CheckResult) -> CheckResult:
    """Take what was expected out of a row: what is left is what the check found."""
    if row.status is Status.XFAIL:
        return row.changed(status=Status.FAIL, expectation="")
    if row.status is Status.XPASS:
        return row.changed(status=Status.PASS, message="", expectation="")
    return row
