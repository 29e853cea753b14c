"""Whatever a case does to its process is a row, and the other cells of the run pass."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

Check = Callable[..., CheckResult]


def verdict(row: CheckResult) -> tuple[Status, Stage | None, Reason | None]:
    return row.status, row.stage, row.reason


def crash_at(stage: Stage) -> tuple[Status, Stage, Reason]:
    return Status.FAIL, stage, Reason.CRASH


class TestCrashes:
    def test_segmentation_fault_by_signal(self, check: Check) -> None:
        def build() -> None:
            import signal

            os.kill(os.getpid(), signal.SIGSEGV)

        row = check(build)
        assert verdict(row) == crash_at(Stage.BUILD)
        assert row.signal == "SIGSEGV"

    def test_segmentation_fault_in_native_code(self, check: Check) -> None:
        def build() -> None:
            import ctypes

            ctypes.string_at(0)

        assert check(build).signal == "SIGSEGV"

    def test_abort_leaves_its_last_words(self, check: Check) -> None:
        def build() -> None:

            os.write(2, b"terminate called after throwing\n")
            os.abort()

        row = check(build)
        assert row.signal == "SIGABRT"
        assert row.stderr.startswith("terminate called after throwing\nFatal Python error: Aborted")
        assert "in build" in row.stderr

    def test_crash_inside_the_reference(self, check: Check, tools: SimpleNamespace) -> None:
        inner = tools.light_build()

        def build() -> Any:
            import ctypes

            from validation.references.onnx import ONNXFramework

            sample = inner()
            ONNXFramework.session = lambda *arguments: ctypes.string_at(0)
            return sample

        row = check(build)
        assert verdict(row) == crash_at(Stage.REFERENCE)
        assert row.signal == "SIGSEGV"

    def test_crash_while_folding_is_told_from_one_while_loading(
        self, check: Check, tools: SimpleNamespace
    ) -> None:
        inner = tools.light_build()

        def build_for(stage: str) -> Callable[[], Any]:
            def build() -> Any:
                import signal

                from forge import stages
                from validation.references.onnx import ONNXFramework

                def load(*arguments: Any) -> None:
                    stages.enter("load")
                    stages.enter(stage)
                    os.kill(os.getpid(), signal.SIGBUS)

                sample = inner()
                ONNXFramework.load = load
                return sample

            return build

        assert verdict(check(build_for("load"))) == crash_at(Stage.LOAD)
        assert verdict(check(build_for("fold"))) == crash_at(Stage.FOLD)

    @pytest.mark.parametrize("code", [0, 3])
    def test_exit_behind_python_s_back(self, check: Check, code: int) -> None:
        def build() -> None:

            os._exit(code)

        row = check(build)
        assert verdict(row) == crash_at(Stage.BUILD)
        assert f"exited with {code}" in row.message

    @pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
    def test_an_exception_that_ends_programs(self, check: Check, kind: type) -> None:
        def build() -> None:
            raise kind("enough")

        row = check(build)
        assert verdict(row) == crash_at(Stage.BUILD)
        assert f"{kind.__name__}: enough" in row.stderr

    def test_endless_recursion(self, check: Check) -> None:
        def build() -> None:
            def recurse() -> None:
                recurse()

            recurse()

        row = check(build)
        assert row.status is Status.FAIL
        assert "RecursionError" in row.message


class TestLimits:
    def test_hang(self, check: Check) -> None:
        def build() -> None:
            import signal

            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            time.sleep(1000)

        row = check(build, time_limit=0.5)
        assert verdict(row) == (Status.FAIL, Stage.BUILD, Reason.TIMEOUT)
        assert "0.5 s" in row.message

    def test_stopped_process(self, check: Check) -> None:
        def build() -> None:
            import signal

            os.kill(os.getpid(), signal.SIGSTOP)

        assert check(build, time_limit=0.5).reason is Reason.TIMEOUT

    @pytest.mark.parametrize("session", [False, True])
    def test_hang_with_a_grandchild(
        self, check: Check, ended: Any, tmp_path: Path, session: bool
    ) -> None:
        file = str(tmp_path / "pid")

        def build() -> None:
            import subprocess

            child = subprocess.Popen(["sleep", "1000"], start_new_session=session)
            with open(file, "w") as stream:
                stream.write(str(child.pid))
            time.sleep(1000)

        assert check(build, time_limit=1.0).reason is Reason.TIMEOUT
        assert ended(int((tmp_path / "pid").read_text()))

    @pytest.mark.parametrize("session", [False, True])
    def test_crash_with_a_grandchild(
        self, check: Check, ended: Any, tmp_path: Path, session: bool
    ) -> None:
        file = str(tmp_path / "pid")

        def build() -> None:
            import subprocess
            import time

            child = subprocess.Popen(["sleep", "1000"], start_new_session=session)
            with open(file, "w") as stream:
                stream.write(str(child.pid))
            time.sleep(0.5)
            os.abort()

        assert check(build).reason is Reason.CRASH
        assert ended(int((tmp_path / "pid").read_text()))

    def test_memory(self, check: Check) -> None:
        def build() -> None:

            import numpy as np

            # Touched: pages that nobody has written to are not resident.
            kept = [np.full(1 << 22, 1.0) for _ in range(12)]
            time.sleep(1000)
            del kept

        row = check(build, memory_limit=300 << 20)
        assert verdict(row) == (Status.FAIL, Stage.BUILD, Reason.OUT_OF_MEMORY)
        assert row.peak_memory > 300 << 20
        assert "300 MiB" in row.message

    def test_memory_of_a_grandchild_counts(self, check: Check) -> None:
        def build() -> None:
            import subprocess
            import sys

            code = "x = b'1' * (400 << 20); import time; time.sleep(1000)"
            subprocess.run([sys.executable, "-c", code], check=False)

        assert check(build, memory_limit=300 << 20).reason is Reason.OUT_OF_MEMORY

    def test_an_allocation_that_python_refuses(self, check: Check) -> None:
        def build() -> None:
            import numpy as np

            np.empty(1 << 60, np.uint8)

        row = check(build)
        assert verdict(row) == (Status.FAIL, Stage.BUILD, Reason.OUT_OF_MEMORY)

    def test_memory_is_not_capped_below_the_limit(self, check: Check, tools: Any) -> None:
        inner = tools.light_build()

        def build() -> Any:
            import numpy as np

            np.empty(1 << 31, np.uint8)  # address space, not memory
            return inner()

        row = check(build, memory_limit=400 << 20)
        assert row.status is Status.PASS, row


class TestMischief:
    def test_a_flood_on_standard_error(self, check: Check, tools: SimpleNamespace) -> None:
        inner = tools.light_build()

        def build(fail: bool) -> Any:

            for _ in range(100):
                os.write(2, b"x" * 1023 * 1024 + b"\n" * 1024)
            os.write(2, b"the end")
            return os._exit(1) if fail else inner()

        assert check(lambda: build(False))
        row = check(lambda: build(True))
        assert row.stderr.endswith("the end")
        assert len(row.stderr) < 10_000

    def test_closed_descriptors(self, check: Check) -> None:
        def build() -> None:

            os.closerange(0, 256)
            raise RuntimeError("closed")

        row = check(build)
        assert verdict(row) == (Status.FAIL, Stage.BUILD, Reason.ENVIRONMENT_ERROR)

    def test_closed_descriptors_and_on(self, check: Check, tools: SimpleNamespace) -> None:
        inner = tools.light_build()

        def build() -> Any:

            os.closerange(0, 256)
            return inner()

        row = check(build)
        assert row.status is Status.PASS or (row.stage and row.reason), row

    def test_it_prints_what_looks_like_a_reply(self, check: Check, tools: Any) -> None:
        inner = tools.light_build()

        def build() -> Any:

            for descriptor in (1, 2):
                os.write(descriptor, b'{"job": "x", "exit": 0}\n{"ready": 1}\nnonsense\n')
            return inner()

        assert check(build)

    def test_a_case_that_changes_what_it_shares_with_the_server(self, check: Check) -> None:
        def build() -> None:
            import sys

            os.environ.clear()
            sys.path.clear()
            sys.modules.clear()
            raise ValueError("vandal")

        # Python 3.13 cannot even format the traceback without its modules; the row is there.
        row = check(build)
        assert (row.status, row.stage) == (Status.FAIL, Stage.BUILD)
        assert row.reason
