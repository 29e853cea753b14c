"""The stages of a cell, run in this process with a framework that does as it is told."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import forge
from forge import TensorSpec, stages
from validation import cell
from validation.case import BuiltSample, Case
from validation.cell import run_cell
from validation.vocabulary import Reason, Stage, Status

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Fake:
    """A framework whose model is the identity, any part of which can be made to fail."""

    name = "onnx"
    packages = ("numpy",)

    def __init__(self) -> None:
        self.history = (forge.Step("pass", "reason", 2, ("detail",)),)
        self.ours: Any = dict
        self.native: Any = dict
        self.faults: dict[str, BaseException] = {}
        self.specs = (TensorSpec("x", ("N", 3), "float32"),)
        self.options: Mapping[str, Any] = {}
        self.device_exists = True

    def fail(self, where: str) -> None:
        if where in self.faults:
            raise self.faults[where]

    def inputs(self, model: Any, options: Any) -> Any:
        self.fail("inputs")
        return self.specs

    def session(self, model: Any, options: Any, threads: int) -> Any:
        self.fail("session")

        def run(inputs: Any) -> Any:
            self.fail("reference")
            return self.native(inputs)

        return run

    def load(self, model: Any, options: Any) -> Any:
        self.options = options
        stages.enter("load")
        self.fail("load")
        stages.enter("fold")
        self.fail("fold")
        return SimpleNamespace(compile=self.compile, history=self.history, module=None)

    def compile(self, target: Any) -> Any:
        self.fail("compile")
        return SimpleNamespace(run=self.run, device_exists=self.device_exists, target=target)

    def run(self, inputs: Any) -> Any:
        self.fail("run")
        return self.ours(inputs)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake()
    monkeypatch.setattr(cell, "framework_named", lambda name: fake)
    monkeypatch.setattr("validation.judging.accumulations", lambda module: 1)
    return fake


def case(inputs: Any = None, extra: Any = (), build: Any = None, **fields: Any) -> Case:
    sample = BuiltSample(None, {"x": X} if inputs is None else inputs, {"opset": 13}, extra)
    return Case("onnx/a/b", "onnx", build or (lambda: sample), **{"latency": False, **fields})


def test_a_pass(fake: Fake) -> None:
    entered: list[Stage] = []
    row = run_cell(case(latency=True), "llvm", entered.append)
    assert row
    assert (row.stage, row.reason, row.message) == (None, None, "")
    assert entered == list(Stage)
    assert set(row.latency) == {"native", "forge"}
    assert set(row.stage_seconds) == {stage.value for stage in Stage}
    assert row.versions["numpy"] == np.__version__
    assert row.history == ("pass: 2 (detail)",)
    assert fake.options == {"fold": True, "opset": 13}


@pytest.mark.parametrize(("where", "stage", "reason"), [
    ("session", Stage.REFERENCE, Reason.REFERENCE_ERROR),
    ("reference", Stage.REFERENCE, Reason.REFERENCE_ERROR),
    ("load", Stage.LOAD, Reason.FRONTEND_ERROR),
    ("fold", Stage.FOLD, Reason.FOLD_ERROR),
    ("compile", Stage.COMPILE, Reason.COMPILE_ERROR),
    ("run", Stage.RUN, Reason.RUN_ERROR),
])  # fmt: skip
def test_an_error_belongs_to_its_stage(
    fake: Fake, where: str, stage: Stage, reason: Reason
) -> None:
    fake.faults[where] = RuntimeError("boom")
    row = run_cell(case(), "llvm")
    assert (row.status, row.stage, row.reason) == (Status.FAIL, stage, reason)
    assert row.message == "RuntimeError: boom"
    assert "Traceback" in row.stderr or "boom" in row.stderr
    assert row.versions["numpy"]


@pytest.mark.parametrize(("error", "reason"), [
    (forge.UnsupportedOperator("no Foo", ["d::Foo"]), Reason.UNSUPPORTED_OPERATOR),
    (forge.InvalidInput("bad"), Reason.INVALID_INPUT),
    (forge.MissingFramework("none"), Reason.MISSING_FRAMEWORK),
    (forge.FoldError("bad fold"), Reason.FOLD_ERROR),
    (MemoryError(), Reason.OUT_OF_MEMORY),
    (OSError(28, "full"), Reason.DISK_FULL),
    (OSError(2, "none"), Reason.FRONTEND_ERROR),
])  # fmt: skip
def test_some_errors_have_a_reason_of_their_own(
    fake: Fake, error: BaseException, reason: Reason
) -> None:
    fake.faults["load"] = error
    row = run_cell(case(), "llvm")
    assert (row.stage, row.reason) == (Stage.LOAD, reason)


def test_an_error_that_says_it_all_brings_no_traceback(fake: Fake) -> None:
    fake.faults["load"] = forge.UnsupportedOperator("no Foo", ["d::Foo"], hint="take it out")
    row = run_cell(case(), "llvm")
    assert row.message == "no Foo\n  hint: take it out"
    assert row.stderr == ""


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_what_ends_programs_is_not_kept(fake: Fake, kind: type[BaseException]) -> None:
    fake.faults["load"] = kind()
    with pytest.raises(kind):
        run_cell(case(), "llvm")


class TestBuild:
    def test_an_error(self, fake: Fake) -> None:
        row = run_cell(case(build=lambda: 1 / 0), "llvm")
        assert (row.stage, row.reason) == (Stage.BUILD, Reason.ENVIRONMENT_ERROR)
        assert "ZeroDivisionError" in row.message

    def test_a_zoo_that_cannot_have_its_model_skips(self, fake: Fake) -> None:
        def build() -> None:
            error = RuntimeError("x")
            error.skip_reason = "no network"  # type: ignore[attr-defined]
            raise error

        row = run_cell(case(build=build), "llvm")
        assert (row.status, row.stage, row.message) == (Status.SKIP, Stage.BUILD, "no network")
        assert row.reason is Reason.ENVIRONMENT_ERROR

    def test_inputs_are_made_up(self, fake: Fake) -> None:
        assert run_cell(case(build=lambda: BuiltSample(None)), "llvm")

    def test_inputs_that_cannot_be_known(self, fake: Fake) -> None:
        fake.faults["inputs"] = forge.InvalidInput("give shapes")
        row = run_cell(case(build=lambda: BuiltSample(None)), "llvm")
        assert (row.stage, row.reason) == (Stage.BUILD, Reason.INVALID_INPUT)


class TestInputsThatDoNotFit:
    def test_the_native_runtime_s_error_is_told_in_forge_s_words(self, fake: Fake) -> None:
        fake.faults["reference"] = RuntimeError("INVALID_ARGUMENT: 0x7f")
        row = run_cell(case({"z": X}), "llvm")
        assert (row.stage, row.reason) == (Stage.REFERENCE, Reason.INVALID_INPUT)
        assert "unknown input 'z'" in row.message
        assert "missing input 'x'" in row.message

    def test_an_error_with_fitting_inputs_stays_the_runtime_s(self, fake: Fake) -> None:
        fake.faults["reference"] = RuntimeError("boom")
        assert run_cell(case(), "llvm").reason is Reason.REFERENCE_ERROR

    def test_a_framework_that_cannot_tell_its_inputs(self, fake: Fake) -> None:
        fake.faults = {"reference": RuntimeError("boom"), "inputs": forge.InvalidInput("?")}
        assert run_cell(case(), "llvm").message == "RuntimeError: boom"


class TestComparison:
    def test_wrong_values(self, fake: Fake) -> None:
        fake.ours = lambda inputs: {"x": inputs["x"] + np.float32([0, 0, 2])}
        row = run_cell(case(latency=True), "llvm")
        assert (row.stage, row.reason) == (Stage.COMPARE, Reason.WRONG_VALUES)
        assert "output x: 2 of 6 elements differ; worst at [0, 2]: 4, reference 2" in row.message
        assert "would pass at atol=2" in row.message
        assert not row.latency
        assert row.history
        assert row.max_absolute == 2

    def test_nan_would_pass_at_no_tolerance(self, fake: Fake) -> None:
        nan = np.float32(np.nan)
        fake.ours = lambda inputs: {"x": np.where(inputs["x"] == 4, nan, inputs["x"])}
        row = run_cell(case(), "llvm")
        assert "worst at [1, 1]: nan, reference 4" in row.message
        assert "would pass" not in row.message

    def test_all_inputs_are_compared(self, fake: Fake) -> None:
        fake.ours = lambda inputs: {"x": inputs["x"] + np.float32(inputs["x"].shape[0] == 4)}
        row = run_cell(case(extra=[{"x": np.ones((4, 3), np.float32)}]), "llvm")
        assert row.reason is Reason.WRONG_VALUES
        assert [bool(c) for c in row.comparisons] == [True, False]

    def test_the_case_s_tolerances(self, fake: Fake) -> None:
        fake.ours = lambda inputs: {"x": inputs["x"] * np.float32(1.01)}
        assert not run_cell(case(), "llvm")
        assert run_cell(case(rtol=0.02), "llvm")
        assert run_cell(case(atol=0.06, rtol=0.0), "llvm")

    def test_a_reference_that_shows_nothing(self, fake: Fake) -> None:
        row = run_cell(case({"x": np.zeros((2, 3), np.float32)}), "llvm")
        assert (row.stage, row.reason) == (Stage.REFERENCE, Reason.VACUOUS)

    def test_a_model_that_works_in_place_changes_nothing_for_forge(self, fake: Fake) -> None:
        def native(inputs: Any) -> Any:
            inputs["x"] += 1
            return {"x": inputs["x"]}

        fake.native = native
        fake.ours = lambda inputs: {"x": inputs["x"] + 1}
        given = X.copy()
        assert run_cell(case({"x": given}), "llvm")
        np.testing.assert_array_equal(given, X)


class TestGivenOutputs:
    def test_the_native_runtime_is_not_run(self, fake: Fake) -> None:
        fake.faults["session"] = RuntimeError("it ran")
        row = run_cell(case(reference_outputs=({"x": X},), latency=True), "llvm")
        assert row
        assert not row.latency
        assert not run_cell(case(reference_outputs=({"x": X + 1},)), "llvm")

    def test_their_order_in_the_file_does_not_matter(self, fake: Fake) -> None:
        fake.ours = lambda inputs: {"a": X, "b": X + 1}
        assert run_cell(case(reference_outputs=({"b": X + 1, "a": X},)), "llvm")
        row = run_cell(case(reference_outputs=({"b": X, "a": X + 1},)), "llvm")
        assert row.reason is Reason.WRONG_VALUES

    def test_other_names(self, fake: Fake) -> None:
        row = run_cell(case(reference_outputs=({"q": X},)), "llvm")
        assert row.reason is Reason.WRONG_NAMES


def test_an_unknown_framework_is_a_row() -> None:
    row = run_cell(Case("caffe/a/b", "caffe", int), "llvm")
    assert (row.stage, row.reason) == (Stage.ENVIRONMENT, Reason.INVALID_INPUT)


def test_a_target_without_its_device_is_skipped_with_the_reason(fake: Fake) -> None:
    fake.device_exists = False
    row = run_cell(case(), "cuda")
    assert (row.status, row.stage) == (Status.SKIP, Stage.COMPILE)
    assert "no device" in row.message


def test_a_refusal_of_the_loader_explains_a_failing_reference(fake: Fake) -> None:
    fake.faults["reference"] = RuntimeError("no kernel for far::Op")
    fake.faults["load"] = forge.UnsupportedOperator("far::Op cannot be loaded", ["far::Op"])
    row = run_cell(case(), "llvm")
    assert (row.stage, row.reason) == (Stage.LOAD, Reason.UNSUPPORTED_OPERATOR)
    assert "far::Op cannot be loaded" in row.message


def test_another_fault_of_the_loader_does_not_hide_the_reference(fake: Fake) -> None:
    fake.faults["reference"] = RuntimeError("native")
    fake.faults["load"] = ValueError("loader")
    row = run_cell(case(), "llvm")
    assert (row.stage, row.reason) == (Stage.REFERENCE, Reason.REFERENCE_ERROR)
    assert "native" in row.message
