from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from validation.bundles.reading import read_bundle
from validation.bundles.running import Bundling, record
from validation.case import BuiltSample, Case
from validation.isolation import WorkerPool
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
PARTS = ("inputs", "model", "reference", "ir/unfolded.forge", "ir/folded.forge", "ours")


@pytest.fixture
def died(tools: SimpleNamespace) -> CheckResult:
    row: CheckResult = tools.failed_row(Stage.RUN, Reason.CRASH, signal="SIGSEGV")
    return row


class TestRecord:
    """What there is of a cell that died at a stage is what the stages before it made."""

    @pytest.mark.parametrize(("until", "parts"), [
        (Stage.ENVIRONMENT, 0),
        (Stage.BUILD, 0),
        (Stage.REFERENCE, 2),
        (Stage.LOAD, 3),
        (Stage.FOLD, 4),
        (Stage.COMPILE, 5),
        (Stage.RUN, 5),
        (Stage.COMPARE, 6),
        (Stage.LATENCY, 6),
    ])  # fmt: skip
    def test_parts(
        self, until: Stage, parts: int, died: CheckResult, tools: Any, tmp_path: Path
    ) -> None:
        case = tools.make_case("onnx/a/b", tools.build_of(tools.onnx_model(), {"x": X}))
        died = died.changed(stage=until)
        entered: list[Stage] = []
        row = record(case, "llvm", died, tmp_path, 1 << 20, until, entered.append)
        bundle = read_bundle(Path(row.bundle))
        assert row.changed(bundle="") == died
        assert bundle.manifest.expected.stage is until
        assert bundle.row().signal == "SIGSEGV"
        assert {part for part in PARTS if bundle.has(part)} == set(PARTS[:parts])
        assert bundle.has("case.pkl") == (parts == 0)
        assert until not in entered

    def test_a_file_is_there_though_opening_it_died(
        self, died: CheckResult, onnx_file: Path, tmp_path: Path
    ) -> None:
        from validation.bundles.sources import ModelFile

        case = Case("onnx/file/relu", "onnx", ModelFile("onnx", onnx_file, samples=({"x": X},)))
        row = record(case, "llvm", died, tmp_path, 1 << 20, Stage.BUILD)
        bundle = read_bundle(Path(row.bundle))
        assert bundle.manifest.model == "file"
        assert not bundle.manifest.made_up
        np.testing.assert_array_equal(bundle.samples("inputs")[0]["x"], X)
        assert bundle.path("model/model.onnx").read_bytes() == onnx_file.read_bytes()

    def test_a_loader_that_catches_everything_is_stopped(
        self, died: CheckResult, tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from forge import LoadError, stages

        def load(framework: Any, model: Any, options: Any) -> None:
            if not options["fold"]:
                raise LoadError("nothing is stored")
            try:
                stages.enter("load")
                stages.enter("fold")
            except Exception as error:
                raise LoadError("caught") from error
            pytest.fail("the fatal stage was entered")

        monkeypatch.setattr("validation.references.onnx.ONNXFramework.load", load)
        case = tools.make_case("onnx/a/b", tools.build_of(tools.onnx_model()))
        died = died.changed(stage=Stage.FOLD)
        row = record(case, "llvm", died, tmp_path, 1 << 20, Stage.FOLD)
        assert read_bundle(Path(row.bundle)).has("reference")


class TestBundling:
    @pytest.fixture(scope="class")
    def pool(self, tools: SimpleNamespace) -> Iterator[WorkerPool]:
        with WorkerPool(modules=lambda framework: tools.SMALL_SERVER) as pool:
            yield pool

    def test_a_failure_leaves_a_bundle(
        self, pool: WorkerPool, wrong_relu: Case, tmp_path: Path
    ) -> None:
        row = pool.submit(wrong_relu, "llvm", Bundling(tmp_path)).result()
        assert (row.status, row.reason) == (Status.FAIL, Reason.WRONG_VALUES)
        bundle = read_bundle(Path(row.bundle))
        assert all(bundle.has(part) for part in PARTS)
        assert bundle.row().message == row.message

    def test_a_pass_leaves_none(self, pool: WorkerPool, tools: Any, tmp_path: Path) -> None:
        case = tools.make_case("onnx/a/b", tools.build_of(tools.onnx_model()))
        assert pool.submit(case, "llvm", Bundling(tmp_path)).result()
        assert list(tmp_path.iterdir()) == []

    def test_a_converter_that_kills_the_worker(self, pool: WorkerPool, tmp_path: Path) -> None:
        row = pool.submit(deadly_case("load"), "llvm", Bundling(tmp_path)).result()
        assert (row.stage, row.reason, row.signal) == (Stage.LOAD, Reason.CRASH, "SIGSEGV")
        bundle = read_bundle(Path(row.bundle))
        assert bundle.manifest.pickled_options == ("custom_ops",)
        assert {part for part in PARTS if bundle.has(part)} == set(PARTS[:3])
        assert "dying" in (bundle.folder / "stderr.txt").read_text()

    def test_a_build_that_kills_the_worker(self, pool: WorkerPool, tmp_path: Path) -> None:
        row = pool.submit(deadly_case("build"), "llvm", Bundling(tmp_path)).result()
        assert (row.stage, row.reason) == (Stage.BUILD, Reason.CRASH)
        assert read_bundle(Path(row.bundle)).has("case.pkl")

    def test_a_hang(self, pool: WorkerPool, tools: Any, tmp_path: Path) -> None:
        def build() -> None:
            import time

            time.sleep(1000)

        case = tools.make_case("onnx/hang/build", build, time_limit=1.0)
        row = pool.submit(case, "llvm", Bundling(tmp_path)).result()
        assert (row.stage, row.reason) == (Stage.BUILD, Reason.TIMEOUT)
        assert read_bundle(Path(row.bundle)).manifest.case["time_limit"] == 1.0

    def test_a_worker_that_dies_while_it_writes_keeps_its_verdict(
        self, pool: WorkerPool, tools: Any, tmp_path: Path
    ) -> None:
        inner = tools.build_of(tools.onnx_model("Elu"))

        def build() -> Any:
            from forge import stages
            from validation.references.onnx import ONNXFramework

            def load(*arguments: Any) -> None:
                stages.enter("load")
                raise RuntimeError("the verdict")

            ONNXFramework.load = load  # type: ignore[method-assign, assignment]
            ONNXFramework.store = lambda *arguments: os._exit(9)  # type: ignore[method-assign]
            return inner()

        case = tools.make_case("onnx/dies/writing", build)
        row = pool.submit(case, "llvm", Bundling(tmp_path)).result()
        assert (row.stage, row.reason) == (Stage.LOAD, Reason.FRONTEND_ERROR)
        assert "the verdict" in row.message


def deadly_case(stage: str) -> Case:
    """Make a case whose own code ends the process, while it is built or loaded."""

    def build() -> BuiltSample:
        import signal

        import numpy as np
        from onnx import TensorProto, helper

        def die(*arguments: Any) -> None:
            # What TVM prints about a signal would push these words out of the last lines.
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            os.write(2, b"dying")
            os.kill(os.getpid(), signal.SIGSEGV)

        if stage == "build":
            die()
        x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, (2, 3)) for n in "xy")
        node = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph([node], "gelu", [x], [y])
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        inputs = {"x": np.array([[1, -2, 3], [-4, 5, -6]], np.float32)}
        return BuiltSample(model, inputs, {"custom_ops": {"com.microsoft::Gelu": die}})

    return Case(f"onnx/deadly/{stage}", "onnx", build, latency=False, time_limit=60.0)
