from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.mutation.report import outcome_of, write_figures
from validation.result import CheckResult
from validation.vocabulary import Blame, Reason, Stage, Status

pytest.importorskip("matplotlib")


def row(name: str, status: Status, blame: Blame | None = None) -> CheckResult:
    return CheckResult(
        name, "onnx", "llvm", status, Stage.COMPARE, Reason.WRONG_VALUES, blame=blame
    )


def record(moved: float, error: float = 1e-6, kind: str = "weight-rolled") -> dict[str, object]:
    return {"kind": kind, "moved": [moved], "error": [error], "size": [1.0]}


def test_figures_count_what_moves_an_output(tmp_path: Path) -> None:
    outcomes = [
        outcome_of(row("a#fold#0", Status.FAIL, Blame.FOLD), "fold", record(1.0)),
        outcome_of(row("b#fold#1", Status.FAIL, Blame.LOADER), "fold", record(1.0)),
        outcome_of(row("c#fold#2", Status.PASS), "fold", record(1.0)),
        outcome_of(row("d#fold#3", Status.PASS), "fold", record(9e-6)),
        outcome_of(row("e#fold#4", Status.PASS), "fold", {}),
        outcome_of(row("f#fold#5", Status.FAIL, Blame.FOLD), "fold", {"kind": "x", "moved": None}),
    ]
    figures = write_figures(outcomes, [row("g", Status.PASS), row("h", Status.FAIL)], tmp_path)
    assert figures["planned"] == 6
    assert figures["planted"] == 5
    assert figures["equivalent"] == 1
    assert figures["not_measured"] == 1
    assert (figures["counted"], figures["caught"], figures["blamed_right"]) == (3, 2, 1)
    assert figures["clean_failed"] == 1
    text = (tmp_path / "figures.md").read_text()
    assert "- `c#fold#2` weight-rolled: moved 1e+06 times the error" in text
    assert "- `b#fold#1` weight-rolled: blamed loader" in text
    assert "- `d#fold#3` weight-rolled: 9 times" in text
    assert (tmp_path / "detection.svg").stat().st_size > 1000


def test_an_exact_reference_has_the_error_of_one_rounding() -> None:
    outcome = outcome_of(row("a#fold#0", Status.PASS), "fold", record(1e-7, error=0.0))
    assert outcome.ratio == pytest.approx(1e-7 / 2**-24)
    assert not outcome.counts
