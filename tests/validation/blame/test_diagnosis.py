"""Put a fault at each seam of a model's way and see who is blamed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from benchmarks.mutation.relax_faults import Site, mutate
from validation.case import BuiltSample, Case
from validation.cell import run_cell
from validation.references.onnx import ONNXFramework
from validation.result import CheckResult
from validation.vocabulary import Blame, Reason, Stage, Status

pytest.importorskip("onnxruntime")
Patch = pytest.MonkeyPatch
GENERATOR = np.random.default_rng(3)
X = GENERATOR.standard_normal((2, 3, 7, 5)).astype("float32")
WEIGHT = GENERATOR.standard_normal((4, 3, 3, 3)).astype("float32")


def network() -> Any:
    """Make Conv → BatchNormalization → Relu with random statistics."""
    from onnx import TensorProto, helper, numpy_helper

    values = {
        "w": WEIGHT,
        "gamma": np.array([1.5, -0.5, 2, 0.25], "float32"),
        "beta": np.array([0.3, 1, -0.2, 0], "float32"),
        "mean": np.array([3, -2, 0.5, 10], "float32"),
        "variance": np.array([0.01, 4, 25, 1], "float32"),
    }
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
            helper.make_node(
                "BatchNormalization", ["c", "gamma", "beta", "mean", "variance"], ["b"]
            ),
            helper.make_node("Relu", ["b"], ["y"]),
        ],
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 7, 5])],
        [numpy_helper.from_array(array, name) for name, array in values.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)


def check(model: Any = None, inputs: Any = None, **fields: Any) -> CheckResult:
    sample = BuiltSample(model or network(), {"x": X} if inputs is None else inputs)
    return run_cell(Case("onnx/a/b", "onnx", lambda: sample, latency=False, **fields), "llvm")


def wrong(module: Any) -> Any:
    return mutate(module, Site("weight-rolled", 0), 0)


def corrupt_loader(patch: Patch) -> None:
    from forge.loaders import onnx

    finish = onnx.finish
    patch.setattr(onnx, "finish", lambda module, **named: finish(wrong(module), **named))


def corrupt_fold(patch: Patch) -> None:
    import forge.passes

    run_passes = forge.passes.run_passes

    def run(module: Any, names: Any) -> Any:
        module, steps = run_passes(module, names)
        return (wrong(module) if names else module), steps

    patch.setattr(forge.passes, "run_passes", run)


def corrupt_compile(patch: Patch) -> None:
    import forge.compile
    from forge.ir import IRModule

    compile_module = forge.compile.compile_module

    def compiled(ir: IRModule, *arguments: Any) -> Any:
        return compile_module(IRModule(wrong(ir.module), ir.inputs, ir.outputs), *arguments)

    patch.setattr(forge.compile, "compile_module", compiled)


def corrupt_prepare(patch: Patch) -> None:
    from forge.loaders import onnx

    prepare = onnx._prepare

    def prepared(*arguments: Any) -> Any:
        from onnx import numpy_helper

        model, steps = prepare(*arguments)
        if arguments[-1]:
            (weight,) = (t for t in model.graph.initializer if t.name == "w")
            weight.CopyFrom(numpy_helper.from_array(np.roll(WEIGHT, 1), "w"))
        return model, steps

    patch.setattr(onnx, "_prepare", prepared)


def corrupt_reference(patch: Patch) -> None:
    session = ONNXFramework.session

    def wrong_session(self: Any, *arguments: Any) -> Any:
        run = session(self, *arguments)
        return lambda inputs: {name: np.roll(a, 1) for name, a in run(inputs).items()}

    patch.setattr(ONNXFramework, "session", wrong_session)


@pytest.mark.parametrize(("corrupt", "blame"), [
    (corrupt_prepare, Blame.PREPARE),
    (corrupt_loader, Blame.LOADER),
    (corrupt_fold, Blame.FOLD),
    (corrupt_compile, Blame.COMPILE),
    (corrupt_reference, Blame.REFERENCE),
])  # fmt: skip
def test_the_seam_with_the_fault_is_blamed(
    corrupt: Callable[[Patch], None], blame: Blame, monkeypatch: Patch
) -> None:
    assert check()
    corrupt(monkeypatch)
    row = check()
    assert (row.status, row.stage, row.reason) == (
        Status.FAIL, Stage.COMPARE, Reason.WRONG_VALUES,
    ), row  # fmt: skip
    assert row.blame is blame, row.evidence
    assert any("DIFFERENT" in line for line in row.evidence)


def test_a_reference_that_differs_from_itself(monkeypatch: Patch) -> None:
    session = ONNXFramework.session

    def unstable(self: Any, *arguments: Any) -> Any:
        run, generator = session(self, *arguments), np.random.default_rng(0)

        def noisy(inputs: Mapping[str, np.ndarray]) -> Any:
            return {
                name: (array + generator.standard_normal(array.shape)).astype(array.dtype)
                for name, array in run(inputs).items()
            }

        return noisy

    monkeypatch.setattr(ONNXFramework, "session", unstable)
    row = check()
    assert (row.stage, row.reason) == (Stage.REFERENCE, Reason.UNSTABLE_REFERENCE)
    assert row.blame is Blame.REFERENCE


def test_given_outputs_that_are_wrong_are_contradicted_by_the_native_runtime() -> None:
    right = ONNXFramework().session(network(), {}, 1)({"x": X})
    row = check(reference_outputs=({"y": np.roll(right["y"], 1)},))
    assert row.blame is Blame.REFERENCE, row.evidence
    assert any(line.startswith("arbiter the native runtime") for line in row.evidence)


def test_an_operator_that_cannot_be_evaluated_leaves_the_blame_open(monkeypatch: Patch) -> None:
    import forge.evaluate

    monkeypatch.setattr(forge.evaluate, "unknown_operators", lambda module: ("relax.strange",))
    corrupt_loader(monkeypatch)
    row = check()
    assert row.blame is Blame.UNKNOWN
    assert any("relax.strange" in line for line in row.evidence)


def test_a_diagnosis_that_fails_leaves_the_verdict(monkeypatch: Patch) -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError("lost its way")

    monkeypatch.setattr("validation.cell.diagnose", broken)
    corrupt_compile(monkeypatch)
    row = check()
    assert (row.reason, row.blame) == (Reason.WRONG_VALUES, Blame.UNKNOWN)
    assert row.evidence == ("the diagnosis failed: RuntimeError: lost its way",)


def test_the_verdict_is_kept_before_it_is_explained(monkeypatch: Patch) -> None:
    kept: list[CheckResult] = []
    corrupt_compile(monkeypatch)
    sample = BuiltSample(network(), {"x": X})
    case = Case("onnx/a/b", "onnx", lambda: sample, latency=False)
    row = run_cell(case, "llvm", keep=kept.append)
    assert [each.reason for each in kept] == [Reason.WRONG_VALUES] * 2
    assert {each.blame for each in kept} == {Blame.UNKNOWN}
    assert row.blame is Blame.COMPILE
