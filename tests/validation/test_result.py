from __future__ import annotations

import json
import math
from typing import Any

import pytest

from validation.judges.protocol import Comparison
from validation.result import CheckResult, from_json
from validation.vocabulary import Blame, Reason, Stage, Status

NAN, INFINITY = math.nan, math.inf


def full_row() -> CheckResult:
    return CheckResult(
        "onnx/a/b",
        "onnx",
        "llvm -mcpu=x",
        Status.FAIL,
        Stage.COMPARE,
        Reason.WRONG_VALUES,
        "differs | in\nthe \u2028 middle, naïve 'quotes' \x00",
        Blame.FOLD,
        evidence=("folded IR against the IR before folding: DIFFERENT",),
        notes=("input b changes no output",),
        comparisons=(
            Comparison(
                "y", "allclose", None, "", 0.5, 0.25, 0.1, 0.05, 2.0, 1.0, 0.4, 0.3, (1, 2),
                1.5, 1.0, (0, 0), (1, 1), (5, *[0] * 11), 1, ("against float64: 1e-7",),
            ),
            Comparison(
                "z", "allclose", Reason.WRONG_VALUES, "m", INFINITY, 0.0, INFINITY, 0.0,
                INFINITY, 0.0, INFINITY, INFINITY, (), NAN, -INFINITY, (3, 1),
            ),
        ),
        latency={"native": (1e-3, 2e-3), "forge": (3e-3,)},
        stage_seconds={"load": 0.5},
        peak_memory=1 << 40,
        signal="SIGSEGV",
        stderr="last words",
        history=("fold_constants: 2",),
        versions={"numpy": "2"},
        environment={"threads": "1"},
        expectation="why (link)",
        bundle="bundles/onnx--a--b",
    )  # fmt: skip


def test_round_trip() -> None:
    row = full_row()
    back = from_json(row.to_json())
    assert repr(back) == repr(row)
    assert math.isnan(back.comparisons[1].worst_ours)
    assert back.comparisons[1].needed_atol == INFINITY
    assert type(back.comparisons[0].worst_index) is tuple


def test_a_row_is_one_line_of_strict_json() -> None:
    text = full_row().to_json()
    assert len(text.splitlines()) == 1

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is no JSON")

    record = json.loads(text, parse_constant=refuse)
    assert record["schema"] == 2
    assert record["comparisons"][1]["worst_ours"] == "nan"
    assert (record["status"], record["stage"]) == ("FAIL", "compare")


@pytest.mark.parametrize("end", [1, 20, 200, -1])
def test_a_truncated_line(end: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json has its own texts
        from_json(full_row().to_json()[:end])


@pytest.mark.parametrize(("change", "text"), [
    ({"schema": 3}, "schema 3"),
    ({"schema": "1"}, "schema is '1'"),
    ({"schema": None}, "schema is None"),
    ({"status": "FINE"}, "FINE"),
    ({"stage": "lunch"}, "lunch"),
    ({"reason": "bad-luck"}, "bad-luck"),
    ({"surprise": 1}, "surprise"),
    ({"comparisons": 3}, "not a result row"),
    ({"latency": []}, "not a result row"),
])  # fmt: skip
def test_other_records_are_refused(change: dict[str, Any], text: str) -> None:
    record = {**json.loads(full_row().to_json()), **change}
    with pytest.raises(ValueError, match=text):
        from_json(json.dumps(record))


def test_a_row_of_schema_1_is_read() -> None:
    text = (
        '{"schema": 1, "id": "onnx/a/b", "framework": "onnx", "target": "llvm", "status": "FAIL", '
        '"stage": "compare", "reason": "wrong-values", "message": "m", "comparisons": [{"output": '
        '"y", "judge": "allclose", "reason": "wrong-values", "message": "m", "max_absolute": 0.5, '
        '"mean_absolute": 0.25, "max_relative": 0.1, "needed_atol": "inf", "worst_index": [1], '
        '"worst_ours": "nan", "worst_reference": 1.0, "not_finite": [2, 1]}], "latency": {}, '
        '"stage_seconds": {}, "peak_memory": 0, "signal": "", "stderr": "", "history": [], '
        '"versions": {}, "expectation": ""}'
    )
    row = from_json(text)
    assert (row.status, row.reason, row.blame) == (Status.FAIL, Reason.WRONG_VALUES, None)
    comparison = row.comparisons[0]
    assert comparison.nan == (2, 1)
    assert comparison.needed_atol == INFINITY
    assert comparison.histogram == ()


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}", '"PASS"'])
def test_json_that_is_no_row(text: str) -> None:
    with pytest.raises(ValueError, match="no schema"):
        from_json(text)


def test_a_missing_field() -> None:
    record = json.loads(full_row().to_json())
    del record["status"]
    with pytest.raises(ValueError, match="status"):
        from_json(json.dumps(record))


@pytest.mark.parametrize("status", list(Status))
def test_only_a_pass_is_true(status: Status) -> None:
    assert bool(CheckResult("a", "onnx", "llvm", status)) is (status is Status.PASS)


def test_the_figures_are_the_largest_over_all_outputs() -> None:
    row = full_row()
    assert row.max_absolute == INFINITY
    assert row.changed(comparisons=row.comparisons[:1]).needed_atol == 0.4
    assert row.changed(comparisons=()).max_absolute == 0
