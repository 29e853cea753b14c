"""What a child leaves behind, with all that can be missing of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation.isolation import WorkerPool
from validation.isolation.outcome import Ending, row_of, stage_of, write_job
from validation.isolation.worker import JOB, KEPT, PART, ROW, STAGE
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

KEPT_VERDICT = (Status.FAIL, Stage.COMPARE, Reason.WRONG_VALUES)


def verdict(row: CheckResult) -> tuple[Status, Stage | None, Reason | None]:
    return row.status, row.stage, row.reason


def keeping(then: str) -> Any:
    """Make a runner that keeps a verdict, and then does something else to explain it."""

    def run(case: Any, target: Any, enter: Any, keep: Any) -> Any:
        import os
        import signal
        import time

        import numpy as np

        from validation.result import CheckResult
        from validation.vocabulary import Reason, Stage, Status

        ends = (Status.FAIL, Stage.COMPARE, Reason.WRONG_VALUES)
        row = CheckResult(case.id, case.framework, target, *ends, notes=("a note",))
        enter(Stage.COMPARE)
        if then == "takes its time":
            time.sleep(3)
        keep(row)
        keep(row.changed(message="kept last"))
        if then == "dies":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif then == "exits":
            os._exit(0)
        elif then == "raises":
            raise SystemExit(5)
        elif then == "hangs":
            time.sleep(1000)
        elif then == "grows":
            kept = []
            for _ in range(64):
                kept.append(np.ones(4 << 20))
            time.sleep(1000)
        elif then == "kills its server":
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(1000)
        elif then == "takes its time":
            time.sleep(3)
        return row.changed(message="explained")

    return run


class TestKeptVerdicts:
    @pytest.fixture
    def explain(self, light_pool: WorkerPool, tools: SimpleNamespace) -> Any:
        def explain(then: str, **fields: Any) -> CheckResult:
            case = tools.make_case("onnx/a/b", int, **fields)
            return light_pool.submit(case, "llvm", keeping(then)).result(100)

        return explain

    @pytest.mark.parametrize(("then", "text"), [
        ("dies", "the worker died of SIGSEGV"),
        ("exits", "the worker exited with 0 and left no result"),
        ("raises", "the worker exited with 1 and left no result"),
        ("hangs", "no result after 2 s"),
        ("grows", "MiB resident, the limit is 1500 MiB"),
        ("kills its server", "the worker server was killed"),
    ])  # fmt: skip
    def test_it_counts_whatever_ends_its_explanation(
        self, explain: Any, then: str, text: str
    ) -> None:
        limit = 2.0 if then == "hangs" else 60.0
        row = explain(then, time_limit=limit, memory_limit=1500 << 20)
        assert verdict(row) == KEPT_VERDICT
        assert row.message == "kept last"
        first, *_, last = row.notes
        assert first == "a note"
        assert last.startswith("the diagnosis ended: ")
        assert text in last
        # That of the diagnosis, not of the verdict.
        assert row.signal == ""
        assert row.versions["onnx"]
        assert row.peak_memory > 0

    def test_an_explanation_has_as_much_time_as_the_verdict(self, explain: Any) -> None:
        row = explain("takes its time", time_limit=5.0)
        assert (row.message, row.notes) == ("explained", ("a note",))

    def test_it_does_not_count_once_it_is_explained(self, explain: Any) -> None:
        row = explain("goes on")
        assert (row.message, row.notes) == ("explained", ("a note",))


class TestEnding:
    @pytest.mark.parametrize(("ending", "reason", "signal", "text"), [
        (Ending(-11), Reason.CRASH, "SIGSEGV", "died of SIGSEGV"),
        (Ending(-35), Reason.CRASH, "signal 35", "died of signal 35"),
        (Ending(-9), Reason.CRASH, "SIGKILL", "as when the system runs out of memory"),
        (
            Ending(-9, killed_for_memory=True, peak_memory=5 << 20),
            Reason.OUT_OF_MEMORY, "SIGKILL", "lack of memory, 5 MiB resident when it was last",
        ),
        (Ending(-11, killed_for_memory=True), Reason.CRASH, "SIGSEGV", "died of SIGSEGV"),
        (Ending(-9, (Reason.TIMEOUT, "late"), True), Reason.TIMEOUT, "", "late"),
        (Ending(0), Reason.CRASH, "", "exited with 0 and left no result"),
        (Ending(7), Reason.CRASH, "", "exited with 7 and left no result"),
        (Ending(None), Reason.ENVIRONMENT_ERROR, "", "the worker server was killed"),
    ])  # fmt: skip
    def test_in_words(
        self, ending: Ending, reason: Reason, signal: str, text: str, tools: Any, tmp_path: Path
    ) -> None:
        write_job(tmp_path, (tools.make_case("onnx/a/b", int), "llvm", None))
        (tmp_path / STAGE).write_text("fold")
        (tmp_path / "stderr").write_text("the last words\n")
        row = row_of(tmp_path, tools.make_row(status=Status.FAIL), ending)
        assert (row.stage, row.reason, row.signal) == (Stage.FOLD, reason, signal)
        assert text in row.message
        assert row.stderr == "the last words"


class TestFolder:
    def test_room_for_the_answer_is_made_first(self, tmp_path: Path, tools: Any) -> None:
        write_job(tmp_path, (tools.make_case("onnx/a/b", int), "llvm", None))
        sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
        assert sorted(sizes) == sorted([JOB, STAGE, ROW + PART, KEPT + PART])
        assert sizes[ROW + PART] == sizes[KEPT + PART] == 64 << 10
        assert stage_of(tmp_path) is Stage.ENVIRONMENT

    @pytest.mark.parametrize("text", ["", "running", "\xff"])
    def test_a_stage_that_cannot_be_read(self, tmp_path: Path, text: str) -> None:
        assert stage_of(tmp_path) is Stage.ENVIRONMENT
        (tmp_path / STAGE).write_text(text, encoding="latin-1")
        assert stage_of(tmp_path) is Stage.ENVIRONMENT

    def test_a_row_is_taken_though_its_writer_was_ended(self, tmp_path: Path, tools: Any) -> None:
        """It was late by a moment, or died once it had written it."""
        (tmp_path / ROW).write_text(tools.make_row("onnx/x/x", message="m").to_json())
        base = tools.make_row("onnx/a/b", versions={"onnx": "1"}, notes=("n",))
        row = row_of(tmp_path, base, Ending(-9, (Reason.TIMEOUT, "late"), peak_memory=3))
        assert (row.id, row.message, row.status) == ("onnx/a/b", "m", Status.PASS)
        assert (row.versions, row.notes, row.peak_memory) == ({"onnx": "1"}, ("n",), 3)
