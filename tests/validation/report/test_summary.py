from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from validation.report.summary import by_framework, latency_ratio, milliseconds, summarise
from validation.result import CheckResult
from validation.vocabulary import REFUSED, WRONG, ExitCode, Reason, Stage, Status

P, F, XF, XP, S = Status.PASS, Status.FAIL, Status.XFAIL, Status.XPASS, Status.SKIP


def rows(*statuses: Status) -> list[CheckResult]:
    return [CheckResult(f"onnx/a/{i}", "onnx", "llvm", s) for i, s in enumerate(statuses)]


@pytest.mark.parametrize(("statuses", "code"), [
    ([P], ExitCode.PASSED),
    ([P, S, XF], ExitCode.PASSED),
    ([XF], ExitCode.PASSED),
    ([P, F], ExitCode.FAILED),
    ([P, XP], ExitCode.FAILED),
    ([S, F], ExitCode.FAILED),
    ([S, S], ExitCode.NOTHING_CHECKED),
    ([], ExitCode.NOTHING_CHECKED),
])  # fmt: skip
def test_exit_codes(statuses: list[Status], code: ExitCode) -> None:
    assert summarise(rows(*statuses)).exit_code is code


@pytest.mark.parametrize("reason", list(Reason))
def test_every_failure_counts_once(tools: SimpleNamespace, reason: Reason) -> None:
    counts = summarise([tools.failed_row(Stage.RUN, reason)])
    assert (counts.wrong, counts.refused, counts.failed) == (
        int(reason in WRONG),
        int(reason in REFUSED),
        int(reason not in WRONG | REFUSED),
    )
    assert counts.exit_code is ExitCode.FAILED


def test_the_counts_add_up_to_the_whole() -> None:
    counts = summarise(rows(P, P, F, XF, XP, S, S, S))
    parts = (
        counts.passed, counts.refused, counts.wrong, counts.failed, counts.expected,
        counts.unexpected_passes, counts.skipped,
    )  # fmt: skip
    assert parts == (2, 0, 0, 1, 1, 1, 3)
    assert counts.total == sum(parts) == 8
    assert counts.line() == (
        "of 8 cells: passed 2, refused 0, wrong 0, failed 1, expected 1, unexpected passes 1, "
        "skipped 3"
    )


def test_the_verdict_says_what_was_not_covered() -> None:
    assert summarise(rows(P, P)).verdict == "QUALIFIED"
    assert summarise(rows(P, S)).verdict == "QUALIFIED IN PART, 1 of 2 cells not covered"
    assert summarise(rows(P, F)).verdict == "NOT QUALIFIED"
    assert summarise(rows(S)).verdict == "NOTHING CHECKED"


def test_by_framework(tools: SimpleNamespace) -> None:
    parts = by_framework([tools.make_row("torch/a/b"), *rows(P, S)])
    assert [(name, part.total) for name, part in parts.items()] == [("torch", 1), ("onnx", 2)]


@pytest.mark.parametrize(("latency", "expected"), [
    ({}, (None, None, None)),
    ({"native": (0.001, 0.009, 0.002)}, (2.0, None, None)),
    ({"native": (0.001,), "forge": (0.003,)}, (1.0, 3.0, 3.0)),
    ({"native": (0.0,), "forge": (0.003,)}, (0.0, 3.0, None)),
])  # fmt: skip
def test_latency(tools: SimpleNamespace, latency: Any, expected: tuple[Any, ...]) -> None:
    row = tools.make_row(latency=latency)
    found = (milliseconds(row, "native"), milliseconds(row, "forge"), latency_ratio(row))
    assert found == pytest.approx(expected)


def test_an_interrupted_run_is_not_a_smaller_one_that_passed() -> None:
    passed = CheckResult("onnx/a/a", "onnx", "llvm", Status.PASS)
    planned = CheckResult(
        "onnx/a/b", "onnx", "llvm", Status.SKIP, Stage.ENVIRONMENT, Reason.ENVIRONMENT_ERROR
    )
    counts = summarise([passed, planned])
    assert counts.exit_code is ExitCode.NOTHING_CHECKED
    assert counts.verdict == "INTERRUPTED, 1 of 2 cells not finished"
    assert "unfinished 1" in counts.line()
