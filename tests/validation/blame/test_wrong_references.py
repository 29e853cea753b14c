"""Models on which ONNX Runtime is wrong: the checker must say so, and Forge must be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from tests.validation.references.arbiters.wrong_references import (
    WrongReference,
    all_wrong_references,
)
from validation.case import BuiltSample, Case
from validation.cell import run_cell
from validation.trial import Trial
from validation.vocabulary import Blame, Reason, Stage, Status

ALL = all_wrong_references()


def checked(wrong: WrongReference) -> tuple[Any, list[Trial]]:
    sample = BuiltSample(wrong.model, dict(wrong.inputs))
    trials: list[Trial] = []

    def finish(trial: Trial, row: Any) -> Any:
        trials.append(trial)
        return row

    case = Case("onnx/wrong/reference", "onnx", lambda: sample, latency=False)
    return run_cell(case, "llvm", finish=finish), trials


@pytest.mark.parametrize(
    "wrong", [w for w in ALL if w.fault in ("values", "shape")], ids=lambda w: w.name
)
def test_a_wrong_answer_is_blamed_on_the_reference(wrong: WrongReference) -> None:
    row, (trial,) = checked(wrong)
    assert (row.status, row.stage) == (Status.FAIL, Stage.COMPARE), row
    assert row.blame is Blame.REFERENCE, row.evidence
    for name, expected in wrong.expected.items():
        np.testing.assert_allclose(trial.ours[0][name], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("wrong", [w for w in ALL if w.fault == "refuses"], ids=lambda w: w.name)
def test_a_model_that_only_the_reference_refuses(wrong: WrongReference) -> None:
    row, _ = checked(wrong)
    assert (row.stage, row.reason) == (Stage.REFERENCE, Reason.REFERENCE_ERROR)
    assert row.blame is Blame.REFERENCE, row.evidence
    assert row.comparisons
    assert all(row.comparisons), row.evidence
    assert "Forge gives the same as it" in row.message


@pytest.mark.parametrize("wrong", [w for w in ALL if w.fault == "none"], ids=lambda w: w.name)
def test_what_newer_versions_have_mended_passes(wrong: WrongReference) -> None:
    row, (trial,) = checked(wrong)
    assert row, row
    for name, expected in wrong.expected.items():
        np.testing.assert_allclose(trial.ours[0][name], expected, rtol=1e-5, atol=1e-6)
