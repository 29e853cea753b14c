from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from validation import float64
from validation.case import BuiltSample, Case
from validation.float64 import Float64Runs
from validation.references import framework_named
from validation.references.arbiters import Float64Choice
from validation.trial import Trial

torch = pytest.importorskip("torch")
X = np.random.default_rng(0).standard_normal((3, 4)).astype("float32")


class Network(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return torch.exp(x), x.argmax(1)


@pytest.fixture
def trial() -> Trial:
    sample = BuiltSample(Network().eval(), {"x": X}, {"input_info": [("x", (3, 4))]})
    case = Case("torch/a/b", "torch", lambda: sample)
    trial = Trial(case, "llvm", framework_named("torch"), sample, [{"x": X}])
    trial.ir = trial.load()
    return trial


def test_the_framework_computes_it(trial: Trial) -> None:
    name = trial.loaded.outputs[0].name
    run = Float64Runs(trial).output(0, name)
    assert run is not None
    assert run.independent
    assert run.array.dtype == np.float64
    np.testing.assert_allclose(run.array, np.exp(X.astype("float64")), rtol=1e-15)


def test_only_the_ir_can_be_evaluated(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(float64, "float64_run", lambda *a: Float64Choice(None, "no"))
    run = Float64Runs(trial).output(0, trial.loaded.outputs[0].name)
    assert run is not None
    assert not run.independent
    np.testing.assert_allclose(run.array, np.exp(X.astype("float64")), rtol=1e-15)


def test_integers_and_unknown_outputs_have_none(trial: Trial) -> None:
    runs = Float64Runs(trial)
    assert runs.output(0, trial.loaded.outputs[1].name) is None
    assert runs.output(0, "no such output") is None


def test_a_model_is_run_once_a_sample(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    right = float64.float64_run

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return right(*arguments)

    monkeypatch.setattr(float64, "float64_run", counted)
    runs = Float64Runs(trial)
    for _ in range(3):
        runs.output(0, trial.loaded.outputs[0].name)
    assert len(calls) == 1
