from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation import matrix
from validation.expectations import Expectation
from validation.matrix import case_of_entry, missing_modules, run_matrix
from validation.report.files import read_rows
from validation.result import CheckResult, from_json
from validation.row_file import RowFile
from validation.vocabulary import Reason, Stage, Status


def test_an_entry_becomes_a_case(tools: SimpleNamespace) -> None:
    entry = tools.FakeEntry("onnx/a/b", int, rtol=0.1, atol=0.2, time_limit=7.0)
    case = case_of_entry(entry, threads=3)
    assert (case.id, case.framework, case.build) == ("onnx/a/b", "onnx", int)
    assert (case.rtol, case.atol, case.time_limit, case.threads) == (0.1, 0.2, 7.0, 3)
    assert case_of_entry(tools.FakeEntry("onnx/a/b", int, time_limit=None)).time_limit == 300


class TestRun:
    def test_rows_come_in_order_and_are_written_as_they_finish(
        self, light_servers: None, tools: SimpleNamespace, tmp_path: Path, nothing_left: Path
    ) -> None:
        def crash() -> None:
            import os

            os._exit(3)

        def unpickled() -> Any:
            return handle

        handle = open(__file__)  # noqa: SIM115 - a file cannot be pickled
        entries = [
            tools.FakeEntry("onnx/a/good", tools.light_build()),
            tools.FakeEntry("onnx/a/crash", crash),
            tools.FakeEntry("onnx/a/known", crash),
            tools.FakeEntry("onnx/a/unpickled", unpickled),
            tools.FakeEntry("onnx/a/fixed", tools.light_build()),
        ]
        known = [
            Expectation(f"onnx/a/{name}", Stage.BUILD, Reason.CRASH, "why", "link")
            for name in ("known", "fixed")
        ]
        seen: list[CheckResult] = []
        file = tmp_path / "rows.jsonl"
        with RowFile(file) as rows_file:
            rows = run_matrix(
                entries,
                jobs=2,
                latency=False,
                expectations=known,
                rows_file=rows_file,
                progress=seen.append,
            )
        handle.close()
        assert [(row.id, row.status) for row in rows] == [
            ("onnx/a/good", Status.PASS),
            ("onnx/a/crash", Status.FAIL),
            ("onnx/a/known", Status.XFAIL),
            ("onnx/a/unpickled", Status.FAIL),
            ("onnx/a/fixed", Status.XPASS),
        ]
        assert sorted(row.id for row in seen) == sorted(row.id for row in rows)
        assert read_rows([file]) == rows

    def test_each_way_to_die_is_a_row_and_the_real_models_pass(
        self, shared_pool: Any, tools: SimpleNamespace
    ) -> None:
        inner = tools.build_of(tools.onnx_model("Sigmoid"))

        def segfault() -> None:
            import ctypes

            ctypes.string_at(0)

        def segfault_in_the_reference() -> Any:
            import ctypes

            from validation.references.onnx import ONNXFramework

            ONNXFramework.session = lambda *arguments: ctypes.string_at(0)
            return inner()

        def hang() -> None:
            import signal
            import time

            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1000)

        def grow() -> None:
            kept = []
            while True:
                kept.append(b"1" * (64 << 20))

        bad = {
            "segfault": (segfault, Stage.BUILD, Reason.CRASH),
            "reference": (segfault_in_the_reference, Stage.REFERENCE, Reason.CRASH),
            "hang": (hang, Stage.BUILD, Reason.TIMEOUT),
            "grow": (grow, Stage.BUILD, Reason.OUT_OF_MEMORY),
        }
        entries = []
        for name, (build, _, _) in bad.items():
            limit = 1.0 if name == "hang" else 60.0
            entries.append(tools.FakeEntry(f"onnx/bad/{name}", build, time_limit=limit))
            entries.append(tools.FakeEntry(f"onnx/good/after-{name}", inner))
        rows = run_matrix(entries, latency=False, memory_limit=2 << 30)
        assert [(r.status, r.stage, r.reason) for r in rows[::2]] == [
            (Status.FAIL, stage, reason) for _, stage, reason in bad.values()
        ]
        assert [row.status for row in rows[1::2]] == [Status.PASS] * len(bad), rows[1::2]

    def test_a_missing_framework_is_a_skip(
        self, monkeypatch: pytest.MonkeyPatch, tools: SimpleNamespace
    ) -> None:
        monkeypatch.setitem(matrix._MODULES, "torch", ("nothing_of_that_name",))
        (row,) = run_matrix([tools.FakeEntry("torch/a/b", int)])
        assert (row.status, row.stage, row.reason) == (
            Status.SKIP, Stage.ENVIRONMENT, Reason.MISSING_FRAMEWORK,
        )  # fmt: skip
        assert "pip install 'forge-validation[torch]'" in row.message

    def test_a_framework_that_forge_does_not_know(self, tools: SimpleNamespace) -> None:
        (row,) = run_matrix([tools.FakeEntry("caffe/a/b", int)])
        assert (row.status, row.reason) == (Status.FAIL, Reason.INVALID_INPUT)

    def test_nothing(self) -> None:
        assert run_matrix([]) == []


def test_missing_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_modules("onnx") == ()
    monkeypatch.setitem(matrix._MODULES, "onnx", ("onnx", "nothing_of_that_name"))
    assert missing_modules("onnx") == ("nothing_of_that_name",)


def test_what_was_planned_is_on_disk_before_it_is_done(tmp_path: Path) -> None:
    """A run that is killed must not look like a smaller one that was finished."""

    def build() -> None:
        os._exit(9)

    entry = SimpleNamespace(
        id="onnx/a/b", framework="onnx", build=build, rtol=None, atol=None, time_limit=None
    )
    file = tmp_path / "rows.jsonl"
    with RowFile(file) as rows_file:
        run_matrix([entry], rows_file=rows_file, latency=False)
    planned, finished = (from_json(line) for line in file.read_text().splitlines())
    assert (planned.id, planned.status) == ("onnx/a/b", Status.SKIP)
    assert (finished.status, finished.reason) == (Status.FAIL, Reason.CRASH)


class TestResume:
    def run(self, file: Path, entries: list[Any], **fields: Any) -> list[CheckResult]:
        with RowFile(file, resume=True) as rows_file:
            return run_matrix(entries, rows_file=rows_file, latency=False, **fields)

    def entries(self, tools: SimpleNamespace, folder: Path) -> list[Any]:
        """Make entries that leave a mark each time they are built."""

        def make(name: str) -> Any:
            inner, mark = tools.light_build(), str(folder / name)

            def build() -> Any:
                with open(mark, "a") as stream:
                    stream.write("x")
                return inner()

            return tools.FakeEntry(f"onnx/a/{name}", build)

        return [make(name) for name in ("one", "two", "three")]

    def built(self, folder: Path) -> list[int]:
        names = ("one", "two", "three")
        return [len((folder / n).read_text()) if (folder / n).exists() else 0 for n in names]

    def test_what_is_finished_is_not_run_again(
        self, light_servers: None, tools: SimpleNamespace, tmp_path: Path
    ) -> None:
        entries, file = self.entries(tools, tmp_path), tmp_path / "rows.jsonl"
        first = self.run(file, entries[:2])
        lines = file.read_text().splitlines(keepends=True)
        # As a kill leaves it: three cells planned, one finished, one row torn.
        file.write_text("".join([*lines[:3], lines[3][:40]]))
        rows = self.run(file, entries)
        assert [row.status for row in rows] == [Status.PASS] * 3
        assert rows[0] == first[0]
        assert self.built(tmp_path) == [1, 2, 1]
        assert self.run(file, entries) == rows
        assert self.built(tmp_path) == [1, 2, 1]

    @pytest.mark.parametrize("change", [
        {"versions": {"numpy": "0.1"}},
        {"environment": {"threads": "7"}},
        {"status": Status.SKIP, "stage": Stage.BUILD, "reason": Reason.ENVIRONMENT_ERROR},
    ])  # fmt: skip
    def test_rows_of_another_environment_are_run_again(
        self, light_servers: None, tools: SimpleNamespace, tmp_path: Path, change: dict[str, Any]
    ) -> None:
        entries, file = self.entries(tools, tmp_path)[:1], tmp_path / "rows.jsonl"
        (row,) = self.run(file, entries)
        file.write_text(row.changed(**change).to_json() + "\n")
        told: list[str] = []
        rows = self.run(file, entries, notify=told.append)
        assert [row.status for row in rows] == [Status.PASS]
        assert self.built(tmp_path) == [2, 0, 0]
        # A cell that was skipped is none that somebody would miss.
        assert len(told) == (0 if "status" in change else 1)

    def test_expectations_are_applied_anew(
        self, light_servers: None, tools: SimpleNamespace, tmp_path: Path
    ) -> None:
        entries, file = self.entries(tools, tmp_path)[:1], tmp_path / "rows.jsonl"
        self.run(file, entries)
        known = [Expectation("onnx/a/*", Stage.RUN, Reason.CRASH, "why", "link")]
        (row,) = self.run(file, entries, expectations=known)
        assert row.status is Status.XPASS
        assert f"'forge expectations update {file}' takes it off" in row.message
        assert [r.status for r in self.run(file, entries)] == [Status.PASS]
        assert self.built(tmp_path) == [1, 0, 0]
