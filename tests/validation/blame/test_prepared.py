"""A wrong rewrite before TVM's frontend is told from a wrong frontend, on every route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks.mutation import model_faults
from validation.case import BuiltSample, Case
from validation.cell import run_cell
from validation.result import CheckResult
from validation.vocabulary import Blame, Reason

Patch = pytest.MonkeyPatch
X = np.random.default_rng(5).standard_normal((2, 6)).astype("float32")


def torch_sample() -> BuiltSample:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)
    ).eval()
    return BuiltSample(model, {"x": X}, {"input_info": [("x", (2, 6))]})


def keras_sample() -> BuiltSample:
    keras = pytest.importorskip("keras")
    keras.utils.set_random_seed(0)
    layers = [keras.Input((6,), name="x"), keras.layers.Dense(5, "tanh"), keras.layers.Dense(3)]
    return BuiltSample(keras.Sequential(layers), {"x": X}, {"shape_dict": {"x": (2, 6)}})


def corrupt_decompositions(patch: Patch) -> None:
    from forge.prepare.torch import decompositions

    right = decompositions.decompose

    def decompose(program: Any) -> Any:
        program, step = right(program)
        return model_faults.in_program(program, 1)[0], step

    patch.setattr(decompositions, "decompose", decompose)


def corrupt_tflite(patch: Patch) -> None:
    from forge.prepare.tflite import unique_tensor_names as names

    right = names.unique_tensor_names

    def unique(buffer: bytes) -> Any:
        buffer, step = right(buffer)
        return model_faults.in_tflite(buffer, 0)[0], step

    patch.setattr(names, "unique_tensor_names", unique)


def check(sample: BuiltSample, framework: str) -> CheckResult:
    case = Case(f"{framework}/a/b", framework, lambda: sample, latency=False)
    return run_cell(case, "llvm")


@pytest.mark.parametrize(("framework", "make", "corrupt"), [
    ("torch", torch_sample, corrupt_decompositions),
    ("keras", keras_sample, corrupt_tflite),
])  # fmt: skip
def test_a_wrong_rewrite(
    framework: str,
    make: Callable[[], BuiltSample],
    corrupt: Callable[[Patch], None],
    monkeypatch: Patch,
) -> None:
    sample = make()
    assert check(sample, framework)
    corrupt(monkeypatch)
    row = check(sample, framework)
    assert row.reason is Reason.WRONG_VALUES, row
    assert row.blame is Blame.PREPARE, row.evidence
    assert any(line.startswith("the prepared model, run natively") for line in row.evidence)
