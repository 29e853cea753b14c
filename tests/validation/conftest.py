"""Tiny ONNX models, cases and zoo entries that the tests of the checker share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from validation.case import BuiltSample, Case
from validation.isolation import WorkerPool
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

# What cells of small ONNX models need; torch would add seconds to each server.
SMALL_SERVER = (
    "tvm",
    "tvm.relax",
    "numpy",
    "validation.cell",
    "onnx",
    "onnxruntime",
    "tvm.relax.frontend.onnx",
)

LIGHT_SERVER = ("validation.cell",)


@dataclass(frozen=True)
class FakeEntry:
    """What a zoo of someone else's might hold."""

    id: str
    build: Callable[[], Any]
    suites: frozenset[str] = frozenset({"smoke"})
    description: str = "a fake"
    rtol: float | None = None
    atol: float | None = None
    time_limit: float | None = 60.0

    @property
    def framework(self) -> str:
        return self.id.partition("/")[0]


def onnx_model(operator: str = "Relu", shape: Sequence[Any] = ("N", 3)) -> Any:
    """Make ``y = operator(x)`` in float32."""
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"])],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def build_of(model: Any, inputs: Mapping[str, np.ndarray] | None = None) -> Callable[[], Any]:
    """Make a build function that a worker can have: a nested one, pickled by value."""
    content = model.SerializeToString()

    def build() -> Any:
        import onnx

        return BuiltSample(onnx.load_from_string(content), inputs)

    return build


def light_build() -> Callable[[], Any]:
    """Make a build function whose cell passes without TVM or ONNX, for tests of processes alone."""

    def build() -> Any:
        import numpy as np

        from validation import judging
        from validation.case import BuiltSample
        from validation.references.onnx import ONNXFramework

        class Executable:
            device_exists = True

            def run(self, inputs: Any) -> Any:
                return dict(inputs)

        class Loaded:
            history = ()
            module = None

            def compile(self, target: Any) -> Executable:
                return Executable()

        judging.accumulations = lambda module: 1
        ONNXFramework.session = lambda *arguments: dict  # type: ignore[assignment]
        ONNXFramework.load = lambda *arguments: Loaded()  # type: ignore[assignment]
        return BuiltSample(None, {"x": np.arange(3.0)})

    return build


def make_case(id: str, build: Callable[[], Any], **fields: Any) -> Case:
    fields = {"latency": False, "time_limit": 60.0, **fields}
    return Case(id, id.partition("/")[0], build, **fields)


def make_row(id: str = "onnx/a/b", status: Status = Status.PASS, **fields: Any) -> CheckResult:
    return CheckResult(id, id.partition("/")[0], "llvm", status, **fields)


def failed_row(
    stage: Stage = Stage.LOAD, reason: Reason = Reason.FRONTEND_ERROR, **fields: Any
) -> CheckResult:
    return make_row(status=Status.FAIL, stage=stage, reason=reason, **fields)


@pytest.fixture(scope="session")
def tools() -> SimpleNamespace:
    """Give the helpers above: under importlib mode a conftest cannot be imported by name."""
    return SimpleNamespace(
        light_build=light_build,
        FakeEntry=FakeEntry,
        onnx_model=onnx_model,
        build_of=build_of,
        make_case=make_case,
        make_row=make_row,
        failed_row=failed_row,
        SMALL_SERVER=SMALL_SERVER,
        LIGHT_SERVER=LIGHT_SERVER,
    )


@pytest.fixture
def light_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the checker's servers import next to nothing."""
    use_pool(monkeypatch, partial(WorkerPool, modules=lambda framework: LIGHT_SERVER))


@pytest.fixture(scope="session")
def small_pool() -> Iterator[WorkerPool]:
    """Give two workers for small ONNX models to all tests of the session."""
    with WorkerPool(jobs=2, modules=lambda framework: SMALL_SERVER) as pool:
        yield pool


@pytest.fixture
def shared_pool(small_pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> WorkerPool:
    """Have the checker use the pool of the session instead of one a call."""

    class Shared:
        def __init__(self, *arguments: Any, **named: Any) -> None: ...

        def __enter__(self) -> WorkerPool:
            return small_pool

        def __exit__(self, *arguments: Any) -> None: ...

    use_pool(monkeypatch, Shared)
    return small_pool


def use_pool(monkeypatch: pytest.MonkeyPatch, pool: Callable[..., Any]) -> None:
    for user in ("validation.isolation", "validation.matrix", "validation.checking"):
        monkeypatch.setattr(f"{user}.WorkerPool", pool)


@pytest.fixture
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Fail a test that leaves a process or a temporary file; gives the folder for those."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert running_under(folder) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith("forge-")] == []


def running_under(folder: Path) -> list[str]:
    """List the processes, other than this one, that were started with TMPDIR at ``folder``."""
    found = []
    for process in psutil.process_iter():
        try:
            ours = process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
            if ours and process.environ().get("TMPDIR") == str(folder):
                found.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
        except psutil.Error:
            continue
    return found


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    """Give a small model that passes."""
    path = tmp_path / "relu.onnx"
    path.write_bytes(onnx_model().SerializeToString())
    return path
