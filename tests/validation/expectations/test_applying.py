from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from validation.expectations import (
    Expectation,
    apply_expectations,
    as_measured,
    update_command,
)
from validation.vocabulary import Reason, Stage, Status


def expected(case: str = "onnx/a/b", target: str = "", **fields: object) -> Expectation:
    stage = fields.get("stage", Stage.LOAD)
    reason = fields.get("reason", Reason.FRONTEND_ERROR)
    return Expectation(case, stage, reason, "why", "link", target)  # type: ignore[arg-type]


def test_the_expected_failure(tools: SimpleNamespace) -> None:
    row = apply_expectations(tools.failed_row(message="boom"), [expected()])
    assert (row.status, row.expectation, row.message) == (Status.XFAIL, "why (link)", "boom")
    assert row.reason is Reason.FRONTEND_ERROR


def test_a_pass_is_unexpected(tools: SimpleNamespace) -> None:
    row = apply_expectations(tools.make_row(), [expected()])
    assert row.status is Status.XPASS
    assert not row
    assert "link" in row.message
    assert "'forge expectations update RESULTS.jsonl' takes it off" in row.message


@pytest.mark.parametrize(("stage", "reason"), [
    (Stage.COMPILE, Reason.FRONTEND_ERROR),
    (Stage.LOAD, Reason.CRASH),
    (Stage.COMPARE, Reason.WRONG_VALUES),
])  # fmt: skip
def test_another_failure_stays_one(tools: SimpleNamespace, stage: Stage, reason: Reason) -> None:
    row = apply_expectations(tools.failed_row(stage, reason, message="m"), [expected()])
    assert row.status is Status.FAIL
    assert row.message.startswith("m (expected frontend-error at load; 'forge expectations")


def test_a_skip_stays_one(tools: SimpleNamespace) -> None:
    row = tools.make_row(status=Status.SKIP, stage=Stage.LOAD, reason=Reason.FRONTEND_ERROR)
    assert apply_expectations(row, [expected()]) == row


def test_another_case_or_target(tools: SimpleNamespace) -> None:
    row = tools.failed_row()
    assert apply_expectations(row, [expected("onnx/a/c"), expected(target="cuda")]) == row


def test_patterns_and_targets(tools: SimpleNamespace) -> None:
    row = tools.failed_row()
    assert apply_expectations(row, [expected("onnx/*", "llvm")]).status is Status.XFAIL
    assert apply_expectations(row, [expected("ONNX/*")]).status is Status.FAIL


def test_any_of_several_expectations_may_fit(tools: SimpleNamespace) -> None:
    several = [expected(stage=Stage.RUN, reason=Reason.CRASH), expected("onnx/*")]
    assert apply_expectations(tools.failed_row(), several).status is Status.XFAIL
    row = apply_expectations(tools.failed_row(Stage.FOLD), several)
    assert "crash at run or frontend-error at load" in row.message


def test_what_was_expected_is_taken_out_of_a_row(tools: SimpleNamespace) -> None:
    failed, passed = tools.failed_row(message="m"), tools.make_row()
    other = tools.failed_row(Stage.RUN, message="m ()")
    for row in (failed, passed, other):
        assert as_measured(apply_expectations(row, [expected()])) == row
        assert as_measured(row) == row


@pytest.mark.parametrize("fails", [True, False])
def test_the_message_names_the_command_for_these_results(
    tools: SimpleNamespace, fails: bool
) -> None:
    row = tools.failed_row(Stage.RUN) if fails else tools.make_row()
    update = update_command(Path("my reports/all.jsonl"))
    assert update == "forge expectations update 'my reports/all.jsonl'"
    assert update in apply_expectations(row, [expected()], update).message


def test_expectations_applied_twice_say_it_once(tools: SimpleNamespace) -> None:
    row = apply_expectations(tools.failed_row(Stage.RUN, message="m"), [expected()])
    assert apply_expectations(as_measured(row), [expected()]) == row
