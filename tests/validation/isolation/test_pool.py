"""What the pool does when a case cannot travel, a server dies, or the run ends."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation.isolation import WorkerPool
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

Check = Callable[..., CheckResult]


def verdict(row: CheckResult) -> tuple[Status, Stage | None, Reason | None]:
    return row.status, row.stage, row.reason


class TestCasesThatCannotTravel:
    def test_a_build_that_cannot_be_pickled(self, check: Check) -> None:
        lock = threading.Lock()
        row = check(lambda: lock)
        assert verdict(row) == (Status.FAIL, Stage.ENVIRONMENT, Reason.ENVIRONMENT_ERROR)
        assert "lock" in row.message

    def test_a_build_that_cannot_be_unpickled(self, check: Check) -> None:
        class Bomb:
            def __reduce__(self) -> Any:
                return int, ("no number",)

            def __call__(self) -> None: ...

        row = check(Bomb())
        assert verdict(row) == (Status.FAIL, Stage.ENVIRONMENT, Reason.ENVIRONMENT_ERROR)
        assert "no number" in row.message

    def test_an_unknown_framework(self, light_pool: WorkerPool, tools: SimpleNamespace) -> None:
        row = light_pool.submit(tools.make_case("caffe/a/b", int), "llvm").result()
        assert verdict(row) == (Status.FAIL, Stage.ENVIRONMENT, Reason.INVALID_INPUT)
        assert "caffe" in row.message


def test_a_cell_leaves_its_peak_memory(check: Check, tools: SimpleNamespace) -> None:
    row = check(tools.light_build())
    assert row
    assert row.peak_memory > 10 << 20


class TestTheServer:
    def test_a_case_that_kills_its_server(
        self, good: Any, new_pool: Any, tools: SimpleNamespace, nothing_left: Path
    ) -> None:
        def build() -> None:
            import os
            import signal
            import time

            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1000)

        killer = tools.make_case("onnx/bad/one", build)
        with new_pool() as pool:
            futures = [pool.submit(case, "llvm") for case in (good, killer, good, good, good)]
            rows = [future.result(60) for future in futures]
        bad = rows.pop(1)
        assert verdict(bad) == (Status.FAIL, Stage.BUILD, Reason.ENVIRONMENT_ERROR)
        assert "twice" in bad.message
        assert [row.status for row in rows] == [Status.PASS] * 4

    def test_a_server_killed_from_outside_costs_no_cell(
        self,
        good: Any,
        new_pool: Any,
        ended: Any,
        tools: SimpleNamespace,
        tmp_path: Path,
        nothing_left: Path,
    ) -> None:
        file = str(tmp_path / "parent")
        inner = tools.light_build()

        def build() -> Any:
            import os
            import time

            if not os.path.exists(file):
                with open(file + ".part", "w") as stream:
                    stream.write(f"{os.getppid()} {os.getpid()}")
                os.rename(file + ".part", file)
                time.sleep(1000)
            return inner()

        with new_pool() as pool:
            slow = tools.make_case("onnx/slow/one", build)
            futures = [pool.submit(case, "llvm") for case in (slow, good, good)]
            pids = [int(word) for word in wait_for(tmp_path / "parent").split()]
            os.kill(pids[0], 9)
            assert [future.result(60).status for future in futures] == [Status.PASS] * 3
        assert all(map(ended, pids))

    def test_a_server_that_cannot_start(
        self, monkeypatch: pytest.MonkeyPatch, good: Any, new_pool: Any, nothing_left: Path
    ) -> None:
        monkeypatch.setattr("sys.executable", "/bin/false")
        with new_pool() as pool:
            row = pool.submit(good, "llvm").result(60)
        assert verdict(row) == (Status.FAIL, Stage.ENVIRONMENT, Reason.ENVIRONMENT_ERROR)
        assert "did not start" in row.message


class TestTheEnd:
    def test_nothing_is_left(
        self, good: Any, new_pool: Any, tools: Any, nothing_left: Path
    ) -> None:
        def build() -> None:
            import subprocess

            subprocess.run(["sleep", "1000"], check=False)

        with new_pool() as pool:
            assert pool.submit(good, "llvm").result(60)
            pool.submit(tools.make_case("onnx/hang/one", build), "llvm")
            queued = [pool.submit(good, "llvm") for _ in range(50)]
            time.sleep(0.3)
        assert any(future.cancelled() for future in queued)
        pool.close()

    def test_closing_while_the_server_starts(
        self, monkeypatch: pytest.MonkeyPatch, good: Any, nothing_left: Path
    ) -> None:
        # Were the server waited for, this would take longer than the test's own patience.
        (nothing_left / "sleepy.py").write_text("import time; time.sleep(1000)")
        monkeypatch.syspath_prepend(str(nothing_left))
        with WorkerPool(jobs=2, modules=lambda framework: ("sleepy",)) as pool:
            futures = [pool.submit(good, "llvm") for _ in range(4)]
            time.sleep(0.2)
        for future in futures:
            if not future.cancelled():
                assert future.result(1).reason is Reason.ENVIRONMENT_ERROR

    def test_a_full_disk_is_a_row(
        self, light_pool: WorkerPool, good: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*arguments: Any, **named: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("validation.isolation.pool.write_job", refuse)
        row = light_pool.submit(good, "llvm").result(60)
        assert verdict(row) == (Status.FAIL, Stage.ENVIRONMENT, Reason.DISK_FULL)


def wait_for(path: Path, seconds: float = 60) -> str:
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)
    return path.read_text()
