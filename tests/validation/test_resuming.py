from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forge import InvalidInput
from validation import environment
from validation.references import framework_named
from validation.result import CheckResult
from validation.resuming import entries_of, tell_again, why_again
from validation.row_file import RowFile
from validation.vocabulary import Reason, Stage, Status


@pytest.fixture
def case(tools: SimpleNamespace) -> Any:
    return tools.make_case("onnx/a/b", int)


@pytest.fixture
def row(tools: SimpleNamespace) -> CheckResult:
    made: CheckResult = tools.make_row(
        versions=environment.versions(framework_named("onnx").packages),
        environment={"processor": environment.processor(), "threads": "1", "more": "x"},
    )
    return made


class TestWhyAgain:
    def test_a_row_of_here_counts(self, row: CheckResult, case: Any) -> None:
        assert why_again(row, case) == ""
        crash = {"status": Status.FAIL, "stage": Stage.RUN, "reason": Reason.CRASH}
        assert why_again(row.changed(**crash), case) == ""

    @pytest.mark.parametrize(("name", "then"), [
        ("numpy", "0.1"), ("python", "2.7"), ("platform", "BeOS"), ("onnxruntime", None),
        ("torch", "2.9"),
    ])  # fmt: skip
    def test_other_versions(self, row: CheckResult, case: Any, name: str, then: Any) -> None:
        versions = {key: value for key, value in row.versions.items() if key != name}
        if then:
            versions[name] = then
        why = why_again(row.changed(versions=versions), case)
        assert why.startswith(f"{name} was {then or 'not there'}, here ")
        assert ";" not in why

    @pytest.mark.parametrize(("name", "then"), [("threads", "2"), ("processor", "Z80")])
    def test_other_settings(self, row: CheckResult, case: Any, name: str, then: str) -> None:
        changed = row.changed(environment={**row.environment, name: then})
        assert why_again(changed, case).startswith(f"{name} was {then}, here ")

    def test_missing_latencies(self, row: CheckResult, tools: SimpleNamespace) -> None:
        case = tools.make_case("onnx/a/b", int, latency=True)
        assert why_again(row, case) == "it has no latencies"
        assert why_again(row.changed(latency={"forge": (1.0,)}), case) == ""
        assert why_again(row.changed(status=Status.FAIL), case) == ""

    def test_what_was_planned_or_skipped(self, row: CheckResult, case: Any) -> None:
        skip = row.changed(status=Status.SKIP, stage=Stage.BUILD, reason=Reason.ENVIRONMENT_ERROR)
        assert "skipped" in why_again(skip, case)
        assert "not finished" in why_again(skip.changed(stage=Stage.ENVIRONMENT), case)


class TestEntries:
    def file(self, folder: Path, *rows: CheckResult) -> RowFile:
        with RowFile(folder / "rows.jsonl") as file:
            file.append(*rows)
        return file

    def test_the_file_s_cells_in_its_order(self, tmp_path: Path, tools: SimpleNamespace) -> None:
        known = [tools.FakeEntry(f"onnx/a/{name}", int) for name in "abc"]
        rows = [tools.make_row(f"onnx/a/{name}") for name in "cac"]
        found = entries_of(self.file(tmp_path, *rows), "llvm", known)
        assert [entry.id for entry in found] == ["onnx/a/c", "onnx/a/a"]

    def test_nothing_finished(self, tmp_path: Path, tools: SimpleNamespace) -> None:
        planned = tools.make_row(
            status=Status.SKIP, stage=Stage.ENVIRONMENT, reason=Reason.ENVIRONMENT_ERROR
        )
        for rows in ([], [planned]):
            with pytest.raises(InvalidInput, match="no finished row"):
                entries_of(self.file(tmp_path, *rows), "llvm", [])

    def test_another_target(self, tmp_path: Path, tools: SimpleNamespace) -> None:
        with pytest.raises(InvalidInput, match="target llvm, and this run of cuda"):
            entries_of(self.file(tmp_path, tools.make_row()), "cuda", [])

    def test_an_entry_that_is_gone(self, tmp_path: Path, tools: SimpleNamespace) -> None:
        with pytest.raises(InvalidInput, match="onnx/a/b") as caught:
            entries_of(
                self.file(tmp_path, tools.make_row()), "llvm", [tools.FakeEntry("onnx/a/bb", int)]
            )
        assert "onnx/a/bb" in str(caught.value.hint)


def test_the_note_is_one_line() -> None:
    text = tell_again([("onnx/a/b", "numpy was 1, here 2"), ("onnx/a/c", "…"), ("onnx/a/d", "…")])
    assert text.endswith("run again: onnx/a/b (numpy was 1, here 2), and 2 more")
