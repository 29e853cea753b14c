from __future__ import annotations

from types import SimpleNamespace

import pytest

from validation.blame.stages import with_blame
from validation.vocabulary import Blame, Reason, Stage, Status


@pytest.mark.parametrize(("stage", "reason", "blame"), [
    (Stage.REFERENCE, Reason.CRASH, Blame.REFERENCE),
    (Stage.LOAD, Reason.FRONTEND_ERROR, Blame.LOADER),
    (Stage.LOAD, Reason.UNSUPPORTED_OPERATOR, Blame.LOADER),
    (Stage.LOAD, Reason.INVALID_INPUT, Blame.INPUTS),
    (Stage.FOLD, Reason.TIMEOUT, Blame.FOLD),
    (Stage.COMPILE, Reason.OUT_OF_MEMORY, Blame.COMPILE),
    (Stage.RUN, Reason.CRASH, Blame.COMPILE),
    (Stage.COMPILE, Reason.DISK_FULL, Blame.ENVIRONMENT),
    (Stage.BUILD, Reason.ENVIRONMENT_ERROR, Blame.ENVIRONMENT),
    (Stage.COMPARE, Reason.WRONG_VALUES, Blame.UNKNOWN),
])  # fmt: skip
def test_stage_and_reason_tell(
    tools: SimpleNamespace, stage: Stage, reason: Reason, blame: Blame
) -> None:
    assert with_blame(tools.failed_row(stage, reason)).blame is blame


def test_what_was_measured_stays(tools: SimpleNamespace) -> None:
    assert with_blame(tools.failed_row(Stage.LOAD, blame=Blame.PREPARE)).blame is Blame.PREPARE


@pytest.mark.parametrize("status", [Status.PASS, Status.SKIP])
def test_only_a_failure_has_a_blame(tools: SimpleNamespace, status: Status) -> None:
    assert with_blame(tools.make_row(status=status)).blame is None
