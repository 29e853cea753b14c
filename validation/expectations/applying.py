"""Tell expected failures from others."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from validation.expectations.record import Expectation
from validation.result import CheckResult
from validation.vocabulary import Status


def update_command(results: Path | None = None) -> str:
    """Give the command that brings the lists up to date with a file of results."""
    return f"forge expectations update {shlex.quote(str(results)) if results else 'RESULTS.jsonl'}"


UPDATE = update_command()


def apply_expectations(
    row: CheckResult, expectations: Iterable[Expectation], update: str = UPDATE
) -> CheckResult:
    """Turn an expected failure into XFAIL, and a pass that was not expected into XPASS.

    A case that fails at another stage or for another reason than expected stays a FAIL. Its message
    says what was expected, and so does ``expectation``.

    Args:
        row: What a check has found.
        expectations: Known failures. Of several that apply any may be the right one.
        update: The command that changes the lists, for the message.
    """
    expected = [each for each in expectations if each.applies_to(row)]
    if not expected or row.status not in (Status.PASS, Status.FAIL):
        return row
    if row.status is Status.PASS:
        text = f"{expected[0].why} ({expected[0].link})"
        message = (
            f"passes, and was expected to fail at {expected[0].stage.value}: {text}; "
            f"'{update}' takes it off the list"
        )
        return row.changed(status=Status.XPASS, message=message, expectation=text)
    for each in expected:
        if each.is_met_by(row):
            return row.changed(status=Status.XFAIL, expectation=f"{each.why} ({each.link})")
    wanted = " or ".join(f"{each.reason.value} at {each.stage.value}" for each in expected)
    text = f"expected {wanted}; '{update}' changes the list"
    return row.changed(message=_with(row.message, text), expectation=text)


def as_measured(row: CheckResult) -> CheckResult:
    """Take what was expected out of a row: what is left is what the check found."""
    if row.status is Status.XFAIL:
        return row.changed(status=Status.FAIL, expectation="")
    if row.status is Status.XPASS:
        return row.changed(status=Status.PASS, message="", expectation="")
    if row.expectation:
        message = row.message.removesuffix(_with("", row.expectation))
        return row.changed(message=message, expectation="")
    return row


def _with(message: str, expectation: str) -> str:
    return f"{message} ({expectation})"
