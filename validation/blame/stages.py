"""Whose fault a failure is, where the stage at which it happened already tells."""

from __future__ import annotations

from validation.result import CheckResult
from validation.vocabulary import Blame, Reason, Stage, Status

_OF_REASON = {
    Reason.INVALID_INPUT: Blame.INPUTS,
    Reason.VACUOUS: Blame.INPUTS,
    Reason.MISSING_FRAMEWORK: Blame.ENVIRONMENT,
    Reason.ENVIRONMENT_ERROR: Blame.ENVIRONMENT,
    Reason.DISK_FULL: Blame.ENVIRONMENT,
    Reason.UNSTABLE_REFERENCE: Blame.REFERENCE,
    Reason.UNSUPPORTED_OPERATOR: Blame.LOADER,
}
_OF_STAGE = {
    Stage.ENVIRONMENT: Blame.ENVIRONMENT,
    Stage.BUILD: Blame.ENVIRONMENT,
    Stage.REFERENCE: Blame.REFERENCE,
    Stage.LOAD: Blame.LOADER,
    Stage.FOLD: Blame.FOLD,
    Stage.COMPILE: Blame.COMPILE,
    Stage.RUN: Blame.COMPILE,
}


def with_blame(row: CheckResult) -> CheckResult:
    """Give a failure that has no blame yet the one that its reason and stage tell.

    A crash, a hang or an error happened in the part of the work that its stage names. Different
    outputs say nothing by themselves: they are ``unknown`` until ``diagnose`` has measured.
    """
    if row.status is not Status.FAIL or row.blame is not None:
        return row
    found = _OF_REASON.get(row.reason) if row.reason else None
    if found is None:
        found = _OF_STAGE.get(row.stage) if row.stage else None
    return row.changed(blame=found or Blame.UNKNOWN)
