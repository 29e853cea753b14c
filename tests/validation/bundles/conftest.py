"""Cells that fail for a reason that lies in the case itself, and what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest

from validation.bundles.writing import write_bundle
from validation.case import BuiltSample, Case
from validation.cell import run_cell
from validation.references import framework_named
from validation.result import CheckResult
from validation.trial import Trial
from validation.vocabulary import Reason, Stage

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


class DirectPool:
    """Runs cells in this process, from a pickled case, as a worker does in its own."""

    def __init__(self, *arguments: Any, **named: Any) -> None: ...

    def __enter__(self) -> DirectPool:
        return self

    def __exit__(self, *arguments: Any) -> None: ...

    def submit(self, case: Case, target: Any, run: Any) -> Any:
        def result() -> CheckResult:
            job = cloudpickle.loads(cloudpickle.dumps((case, target, run)))
            row: CheckResult = job[2](job[0], job[1], lambda stage: None, lambda row: None)
            return row

        return SimpleNamespace(result=result)


class FakeIR:
    """What a loader gives, as far as a bundle needs it."""

    inputs = outputs = history = ()

    def __init__(self, size: int = 1000) -> None:
        self.size = size
        self.unfolded: Any = None

    def save(self, path: Path) -> None:
        path.write_bytes(b"i" * self.size)


def expecting_too_much(
    framework: str, build: Callable[[], BuiltSample], id: str = "", **fields: Any
) -> Case:
    """Make a case whose given outputs are those of the model, and one more."""
    sample = build()
    assert sample.inputs is not None
    session = framework_named(framework).session(sample.model, sample.options, 1)
    wrong = {name: array + 1 for name, array in session(sample.inputs).items()}
    return Case(
        id or f"{framework}/bundled/{build.__name__.strip('_')}",
        framework,
        build,
        latency=False,
        reference_outputs=(wrong,),
        **fields,
    )


def write(case: Case, root: Path, **limits: Any) -> CheckResult:
    """Run a cell in this process and leave its bundle."""
    return run_cell(
        case, "llvm", finish=lambda trial, row: write_bundle(trial, row, root, **limits)
    )


def edit_manifest(bundle: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = bundle / "bundle.json"
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def contents(bundle: Path) -> set[str]:
    """List the files of a bundle."""
    return {p.relative_to(bundle).as_posix() for p in bundle.rglob("*") if p.is_file()}


def same_arrays(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> bool:
    return list(one) == list(other) and all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


@pytest.fixture(scope="session")
def bundling() -> SimpleNamespace:
    """Give the helpers above: under importlib mode a conftest cannot be imported by name."""
    return SimpleNamespace(
        DirectPool=DirectPool,
        FakeIR=FakeIR,
        X=X,
        contents=contents,
        edit_manifest=edit_manifest,
        expecting_too_much=expecting_too_much,
        same_arrays=same_arrays,
        write=write,
    )


@pytest.fixture
def trial(tools: SimpleNamespace) -> Trial:
    """Give a cell that came to its end: 1200 bytes an array, a small model, and an IR."""
    arrays = [{"x": np.full(300, n, np.float32)} for n in range(3)]
    sample = BuiltSample(tools.onnx_model(), arrays[0], {"opset": 13}, arrays[1:])
    framework = framework_named("onnx")
    trial = Trial(Case("onnx/a/b", "onnx", lambda: sample), "llvm", framework, sample, arrays)
    trial.references = [{"y": np.ones(300, np.float32)} for _ in range(3)]
    trial.ours = [{"y": np.zeros(300, np.float32)} for _ in range(3)]
    trial.ir = FakeIR()  # type: ignore[assignment]
    return trial


@pytest.fixture
def row(tools: SimpleNamespace) -> CheckResult:
    made: CheckResult = tools.failed_row(
        Stage.COMPARE,
        Reason.WRONG_VALUES,
        message="output y differs \udc80",
        stderr="last words",
        versions={"python": "3", "onnx": "1"},
    )
    return made


@pytest.fixture
def wrong_relu(tools: SimpleNamespace) -> Case:
    """Give a case that fails at ``compare``, since other outputs are expected of it."""
    return expecting_too_much("onnx", tools.build_of(tools.onnx_model(), {"x": X}))


@pytest.fixture(scope="session")
def bundle_source(tools: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = expecting_too_much("onnx", tools.build_of(tools.onnx_model(), {"x": X}), "onnx/a/b")
    return Path(write(case, tmp_path_factory.mktemp("bundles")).bundle)


@pytest.fixture
def bundle(bundle_source: Path, tmp_path: Path) -> Path:
    """Give the bundle of a model that should be Relu, and of which more was expected."""
    import shutil

    return Path(shutil.copytree(bundle_source, tmp_path / "moved"))


@pytest.fixture
def direct_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have bundles replayed in this process."""
    monkeypatch.setattr("validation.bundles.replaying.WorkerPool", DirectPool)
