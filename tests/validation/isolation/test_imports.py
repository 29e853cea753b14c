"""A module whose import ends or stops a server costs the cells that need it, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation.isolation import WorkerPool
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

MODULES = {
    "deadly": "import os; os.write(2, b'the last words\\n'); os.abort()",
    "exiting": "import os; os._exit(4)",
    "murdered": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "sleepy": "import time; time.sleep(1000)",
}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write them where servers and their children find them."""
    folder = tmp_path / "modules"
    folder.mkdir()
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))


def importing(name: str, inner: Callable[[], Any]) -> Callable[[], Any]:
    """Make a build of a cell whose native runtime needs the module."""

    def build() -> Any:
        import importlib

        sample = inner()
        from validation.references.onnx import ONNXFramework

        ONNXFramework.session = lambda *arguments: importlib.import_module(name)  # type: ignore[assignment]
        return sample

    return build


def run(pool: WorkerPool, tools: SimpleNamespace, *names: str, **fields: Any) -> list[CheckResult]:
    """Run a cell for each module, with a good one before and after."""
    builds = [tools.light_build(), *(importing(name, tools.light_build()) for name in names)]
    cases = [
        tools.make_case(f"onnx/cell/{n}", build, **fields)
        for n, build in enumerate([*builds, tools.light_build()])
    ]
    return [future.result(150) for future in [pool.submit(case, "llvm") for case in cases]]


def test_servers_that_end(modules: None, tools: SimpleNamespace, nothing_left: Path) -> None:
    wanted = ("deadly", "exiting", "murdered", *tools.LIGHT_SERVER)
    with WorkerPool(jobs=2, modules=lambda framework: wanted) as pool:
        first, deadly, exiting, murdered, last = run(pool, tools, *wanted[:3])
    for row in (first, last):
        assert row.status is Status.PASS, row
    assert last.notes == (
        "the worker server is without deadly: importing it ended it by SIGABRT",
        "the worker server is without exiting: importing it ended it (exit code 4)",
        "the worker server is without murdered: importing it ended it by SIGKILL",
    )
    assert (deadly.stage, deadly.reason) == (Stage.REFERENCE, Reason.CRASH)
    assert deadly.signal == "SIGABRT"
    assert deadly.stderr.startswith("the last words\n")
    assert (murdered.stage, murdered.signal) == (Stage.REFERENCE, "SIGKILL")
    assert exiting.stage is Stage.REFERENCE
    assert "exited with 4" in exiting.message


def test_a_server_that_hangs(modules: None, tools: SimpleNamespace, nothing_left: Path) -> None:
    wanted = ("sleepy", *tools.LIGHT_SERVER)
    pool = WorkerPool(jobs=2, modules=lambda framework: wanted, start_seconds=20.0)
    with pool:
        first, sleepy, last = run(pool, tools, "sleepy", time_limit=8.0)
    for row in (first, last):
        assert row.status is Status.PASS, row
        assert row.notes == ("the worker server is without sleepy: importing it took over 20 s",)
    assert (sleepy.stage, sleepy.reason) == (Stage.REFERENCE, Reason.TIMEOUT)


def test_what_every_cell_needs(
    tools: SimpleNamespace, nothing_left: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker itself cannot be imported: each cell says how it died."""
    folder = nothing_left / "broken"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'validation.cell':\n"
        "            import os; os.write(2, b'the last words\\n'); os.abort()\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=":")
    with WorkerPool(modules=lambda framework: tools.LIGHT_SERVER) as pool:
        row, other = run(pool, tools)
    for each in (row, other):
        assert "the worker server is without validation.cell" in each.notes[0]
        assert (each.stage, each.reason) == (Stage.ENVIRONMENT, Reason.CRASH)
        assert each.signal == "SIGABRT"
        assert each.stderr.startswith("the last words\n")
