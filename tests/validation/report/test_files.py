from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from forge import InvalidInput
from validation.report.files import path_of, read_rows, render_markdown, write_report
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status


@pytest.fixture
def rows(tools: SimpleNamespace) -> list[CheckResult]:
    message = "expected a|b\n\n| x | y |\n<script>, `ticks` and \\| more"
    return [
        tools.make_row(latency={"native": (0.001,), "forge": (0.002,)}, versions={"onnx": "1.2|3"}),
        tools.failed_row(message=message, id="onnx/a/c", versions={"onnx": "1.1"}),
        tools.make_row(
            "torch/a/x",
            Status.XFAIL,
            stage=Stage.RUN,
            reason=Reason.CRASH,
            expectation="known (https://example.org/7)",
        ),
        tools.make_row("torch/a/p", Status.XPASS, message="passes"),
        tools.make_row(
            "keras/a|b/`c`",
            Status.SKIP,
            stage=Stage.BUILD,
            reason=Reason.ENVIRONMENT_ERROR,
            message="no network",
        ),
    ]


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def columns(line: str) -> int:
    return line.replace("\\|", "").count("|") - 1


class TestMarkdown:
    def test_the_whole_is_counted_first(self, rows: list[CheckResult]) -> None:
        text = render_markdown(rows)
        assert "**NOT QUALIFIED** — of 5 cells: passed 1, refused 0, wrong 0, failed 1" in text
        assert "| torch | 2 | 0 | 0 | 0 | 0 | 1 | 1 | 0 |" in text

    def test_each_row_stands_in_its_section(self, rows: list[CheckResult]) -> None:
        text = render_markdown(rows)
        assert "`torch/a/p`" in section(text, "Unexpected")
        assert "`onnx/a/c`" in section(text, "Unexpected")
        assert "known (https://example.org/7)" in section(text, "Expected failures")
        assert "no network" in section(text, "Not covered")
        assert section(text, "All cells").count("\n| `") == 5

    def test_messages_do_not_break_tables_or_lists(self, rows: list[CheckResult]) -> None:
        text = render_markdown(rows)
        line = next(line for line in text.splitlines() if "expected a" in line)
        assert line.endswith(
            "expected a\\|b \\| x \\| y \\| &lt;script>, \\`ticks\\` and \\\\\\| more"
        )
        table = [line for line in section(text, "All cells").splitlines() if line[:1] == "|"]
        assert [columns(line) for line in table] == [8] * 7
        versions = [line for line in section(text, "Environment").splitlines() if line[:1] == "|"]
        assert [columns(line) for line in versions] == [2] * 3
        assert "| onnx | 1.1, 1.2\\|3 |" in versions

    def test_what_is_empty_is_left_out(self, rows: list[CheckResult]) -> None:
        text = render_markdown(rows[:1])
        assert "**QUALIFIED**" in text
        assert not any(
            word in text for word in ("## Unexpected", "## Expected failures", "## Not covered")
        )

    def test_no_rows(self) -> None:
        assert "NOTHING CHECKED" in render_markdown([])


class TestWriting:
    def test_both_files(self, rows: list[CheckResult], tmp_path: Path) -> None:
        markdown, data = write_report(rows, tmp_path / "reports" / "qualification-1.2")
        assert markdown.name == "qualification-1.2.md"
        record = json.loads(data.read_text())
        assert record["verdict"] == "NOT QUALIFIED"
        assert record["summary"]["total"] == 5
        assert sorted(path.name for path in markdown.parent.iterdir()) == [
            "qualification-1.2.json", "qualification-1.2.md",
        ]  # fmt: skip
        assert read_rows([data]) == rows

    @pytest.mark.parametrize(("stem", "name"), [
        ("report", "report.md"), ("v1.2", "v1.2.md"), ("report.md", "report.md"),
        ("report.jsonl", "report.md"), ("v1.2.json", "v1.2.md"),
    ])  # fmt: skip
    def test_names(self, stem: str, name: str) -> None:
        assert path_of(Path("reports") / stem, ".md") == Path("reports") / name


class TestReading:
    def test_the_last_of_one_id_and_target_counts(
        self, tools: SimpleNamespace, tmp_path: Path
    ) -> None:
        first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
        other = tools.make_row().changed(target="cuda")
        first.write_text(f"{tools.failed_row().to_json()}\n\n{other.to_json()}\n")
        second.write_text(tools.make_row().to_json())
        assert [(row.target, row.status) for row in read_rows([first, second])] == [
            ("llvm", Status.PASS), ("cuda", Status.PASS),
        ]  # fmt: skip

    def test_a_truncated_line_is_named(self, tools: SimpleNamespace, tmp_path: Path) -> None:
        line = tools.make_row().to_json()
        (tmp_path / "a.jsonl").write_text(f"{line}\n{line[:50]}\n")
        with pytest.raises(InvalidInput, match=r"a\.jsonl.*line 2"):
            read_rows([tmp_path / "a.jsonl"])

    @pytest.mark.parametrize(("name", "content"), [
        ("a.json", b"{}"), ("a.json", b"[]"), ("a.json", b'{"rows": [1]}'), ("a.json", b""),
        ("a.json", b'{"rows": null}'), ("a.jsonl", b"hello"), ("a.jsonl", b"\xff\xfe"),
        ("a.jsonl", b'{"schema": 99}'),
    ])  # fmt: skip
    def test_something_else(self, tmp_path: Path, name: str, content: bytes) -> None:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInput, match="cannot be read as results"):
            read_rows([tmp_path / name])

    def test_a_missing_file_or_a_folder(self, tmp_path: Path) -> None:
        for path in (tmp_path / "none.jsonl", tmp_path):
            with pytest.raises(InvalidInput, match="cannot be read as results"):
                read_rows([path])


class TestTornRows:
    """A kill in the middle of a write leaves half a line at the end, and no newline after it."""

    @pytest.fixture
    def planned(self, tools: SimpleNamespace) -> list[CheckResult]:
        ends = {"stage": Stage.ENVIRONMENT, "reason": Reason.ENVIRONMENT_ERROR}
        return [tools.make_row(f"onnx/a/{n}", Status.SKIP, **ends) for n in range(2)]

    def write(self, folder: Path, *rows: CheckResult, torn: str) -> Path:
        file = folder / "rows.jsonl"
        file.write_text("".join(f"{row.to_json()}\n" for row in rows) + torn)
        return file

    def test_the_planned_row_stands_for_it(
        self, tmp_path: Path, tools: SimpleNamespace, planned: list[CheckResult]
    ) -> None:
        first, second = tools.make_row("onnx/a/0"), tools.make_row("onnx/a/1").to_json()
        file = self.write(tmp_path, *planned, first, torn=second[:50])
        assert read_rows([file]) == [first, planned[1]]

    def test_where_none_does_a_cell_would_be_lost(
        self, tmp_path: Path, tools: SimpleNamespace, planned: list[CheckResult]
    ) -> None:
        rows = [tools.make_row(f"onnx/a/{n}") for n in range(2)]
        for whole in ([rows[0]], [*planned, *rows]):
            file = self.write(tmp_path, *whole, torn=rows[1].to_json()[:50])
            with pytest.raises(InvalidInput, match=f"line {len(whole) + 1}"):
                read_rows([file])

    def test_only_the_last_line_can_be_torn(
        self, tmp_path: Path, tools: SimpleNamespace, planned: list[CheckResult]
    ) -> None:
        torn = f"{planned[0].to_json()[:50]}\n{planned[1].to_json()}\n"
        with pytest.raises(InvalidInput, match="line 1"):
            read_rows([self.write(tmp_path, torn=torn)])

    def test_a_row_that_lacks_only_the_newline_counts(
        self, tmp_path: Path, tools: SimpleNamespace
    ) -> None:
        row = tools.make_row()
        assert read_rows([self.write(tmp_path, torn=row.to_json())]) == [row]
