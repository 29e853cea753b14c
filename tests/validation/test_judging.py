from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from validation import judging
from validation.case import Case
from validation.judging import Judging
from validation.references import framework_named
from validation.trial import Trial, copies

REFERENCE = {"y": np.array([1, 2, 4], "float32"), "z": np.array([1, 2], "int64")}


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(judging, "accumulations", lambda module: 9)

    def make(**fields: Any) -> Judging:
        case = Case("onnx/a/b", "onnx", lambda: None, **fields)  # type: ignore[arg-type, return-value]
        ir: Any = SimpleNamespace(module=None)
        return Judging(Trial(case, "llvm", framework_named("onnx"), ir=ir))

    return make


def changed(name: str, index: int, by: float) -> dict[str, np.ndarray]:
    arrays = copies(REFERENCE)
    arrays[name][index] += by
    return arrays


def test_each_output_has_its_judge(judged: Any) -> None:
    judge = judged(judges={"y": "allclose:rtol=0.1,atol=0", "*": "exact"})
    first, second = judge.compare(changed("y", 0, 0.05), REFERENCE)
    assert first
    assert second
    assert first.judge.startswith("allclose")
    assert second.judge.startswith("exact")
    assert not all(judge.compare(changed("z", 1, 1), REFERENCE))


def test_the_case_s_tolerances_are_the_default_judge_s(judged: Any) -> None:
    ours = changed("y", 2, 0.01)
    assert not all(judged().compare(ours, REFERENCE))
    assert all(judged(rtol=0.0, atol=0.011).compare(ours, REFERENCE))


def test_samples_are_numbered(judged: Any) -> None:
    found = judged().compare_all([REFERENCE, changed("y", 0, 1)], [REFERENCE, REFERENCE])
    assert [(c.output, c.sample, bool(c)) for c in found] == [
        ("y", 0, True), ("z", 0, True), ("y", 1, False), ("z", 1, True),
    ]  # fmt: skip


def test_judges_may_ask_for_a_float64_run_only_where_they_are_let(
    judged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, str]] = []

    def output(self: Any, sample: int, name: str) -> None:
        asked.append((sample, name))

    monkeypatch.setattr(judging.Float64Runs, "output", output)
    judge = judged()
    ours = [REFERENCE, changed("y", 0, 1e-4)]
    judge.compare_all(ours, [REFERENCE, REFERENCE])
    assert asked == []
    judge.compare_all(ours, [REFERENCE, REFERENCE], float64=True)
    assert asked == [(1, "y")]
