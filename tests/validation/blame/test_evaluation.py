from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import forge
from validation.blame import evaluation
from validation.blame.evaluation import CannotEvaluateError, evaluate_module

torch = pytest.importorskip("torch")


class TwoOutputs(torch.nn.Module):  # type: ignore[misc]
    def forward(self, a: Any, b: Any) -> Any:
        return {"second": (a - b, b * 2), "first": torch.tanh(a)}


@pytest.fixture(scope="module")
def ir() -> forge.IRModule:
    return forge.from_torch(TwoOutputs(), [("a", (2, 3)), ("b", (2, 3))])


INPUTS = {
    "b": np.full((2, 3), 0.1, "float32"),
    "a": np.arange(6, dtype="float32").reshape(2, 3),
}


def test_names_and_order_are_the_framework_s(ir: forge.IRModule) -> None:
    found = evaluate_module(ir, ir.module, INPUTS)
    assert list(found) == [spec.name for spec in ir.outputs]
    first, second, third = found.values()
    difference = INPUTS["a"] - INPUTS["b"]
    assert any(np.array_equal(array, difference) for array in found.values())
    assert {each.dtype.name for each in (first, second, third)} == {"float32"}


def test_in_float64(ir: forge.IRModule) -> None:
    found = evaluate_module(ir, ir.module, INPUTS, np.dtype("float64"))
    exact = np.tanh(INPUTS["a"].astype("float64"))
    best = min(float(np.abs(array - exact).max()) for array in found.values())
    assert best < 1e-15


def test_unknown_operators_are_all_named(
    ir: forge.IRModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "forge.evaluate.unknown_operators", lambda module: ("relax.one", "relax.two")
    )
    with pytest.raises(CannotEvaluateError, match=r"relax\.one, relax\.two"):
        evaluate_module(ir, ir.module, INPUTS)


def test_too_much_work(ir: forge.IRModule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_WORK_LIMIT", 3)
    with pytest.raises(CannotEvaluateError, match="too many for numpy"):
        evaluate_module(ir, ir.module, INPUTS)
