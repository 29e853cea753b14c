from __future__ import annotations

import errno

import pytest

import forge
from validation.reasons import reason_of, text_of, trace_of
from validation.vocabulary import Reason, Stage


@pytest.mark.parametrize(("error", "stage", "reason"), [
    (OSError(errno.ENOSPC, "full"), Stage.COMPILE, Reason.DISK_FULL),
    (OSError(errno.EDQUOT, "quota"), Stage.RUN, Reason.DISK_FULL),
    (OSError(errno.EPERM, "no"), Stage.LOAD, Reason.FRONTEND_ERROR),
    (MemoryError(), Stage.RUN, Reason.OUT_OF_MEMORY),
    (forge.UnsupportedOperator("x", ["y"]), Stage.LOAD, Reason.UNSUPPORTED_OPERATOR),
    (forge.InvalidInput("x"), Stage.RUN, Reason.INVALID_INPUT),
    (forge.FoldError("x"), Stage.LOAD, Reason.FOLD_ERROR),
    (ValueError("x"), Stage.REFERENCE, Reason.REFERENCE_ERROR),
    (ValueError("x"), Stage.FOLD, Reason.FOLD_ERROR),
    (ValueError("x"), Stage.LATENCY, Reason.RUN_ERROR),
])  # fmt: skip
def test_error_and_stage_give_the_reason(error: Exception, stage: Stage, reason: Reason) -> None:
    assert reason_of(error, stage) is reason


def test_every_stage_has_a_reason() -> None:
    assert all(isinstance(reason_of(ValueError(), stage), Reason) for stage in Stage)


def test_the_text_names_the_type_of_a_strange_error() -> None:
    assert text_of(ValueError("odd")) == "ValueError: odd"
    assert text_of(forge.InvalidInput("odd")) == "odd"


def test_a_trace_is_short_and_not_given_where_the_error_says_it_all() -> None:
    def deep(level: int) -> None:
        if level:
            deep(level - 1)
        raise ValueError("at the bottom")

    with pytest.raises(ValueError, match="bottom") as caught:
        deep(50)
    lines = trace_of(caught.value).splitlines()
    assert len(lines) <= 15
    assert lines[-1] == "ValueError: at the bottom"
    assert trace_of(forge.InvalidInput("x")) == ""
