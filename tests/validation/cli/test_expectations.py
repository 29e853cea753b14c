from __future__ import annotations

import json
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from validation import zoos
from validation.cli import main
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

Capture = pytest.CaptureFixture[str]
RECORD = """
# Known since then.
[[failure]]
case = "onnx/a/known"
stage = "load"
reason = "frontend-error"
why = "it was broken"
link = "https://example.org/1"
"""


@pytest.fixture
def lists(
    tmp_path: Path, tools: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """Install two zoos with a list each; the second is empty."""
    first, second = tmp_path / "first.toml", tmp_path / "second.toml"
    first.write_text(f"# First.\nschema = 1\n{RECORD}")
    second.write_text("schema = 2\n")
    entries = tuple(tools.FakeEntry(f"onnx/a/{name}", int) for name in ("known", "new", "other"))
    monkeypatch.setattr(zoos, "installed_zoo", lambda: zoos.Zoo(entries, (first, second)))
    return first, second


def results(folder: Path, *rows: CheckResult) -> str:
    file = folder / "rows.jsonl"
    file.write_text("".join(f"{row.to_json()}\n" for row in rows))
    return str(file)


class TestCheck:
    def test_well_formed(self, lists: tuple[Path, Path], capsys: Capture) -> None:
        assert main(["expectations", "check"]) == 0
        assert "1 known failures in " in capsys.readouterr().out
        assert main(["expectations", "check", str(lists[1]), "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record == {"files": [str(lists[1])], "failures": 0, "unused": []}

    def test_all_problems_at_once(self, lists: tuple[Path, Path], capsys: Capture) -> None:
        lists[1].write_text("schema = 2\n[[failure]]\ncase = 'onnx/a/now'\nstage = 'lode'\n")
        assert main(["expectations", "check"]) == 2
        error = capsys.readouterr().err
        for problem in ("no entry matches 'onnx/a/now'; did you mean", "did you mean load"):
            assert problem in error
        assert "missing field 'link'" in error

    def test_what_results_did_not_need(
        self, lists: tuple[Path, Path], tools: SimpleNamespace, tmp_path: Path, capsys: Capture
    ) -> None:
        file = results(tmp_path, tools.failed_row(Stage.RUN, id="onnx/a/known"))
        assert main(["expectations", "check", "--results", file]) == 0
        assert (
            "not needed: onnx/a/known (frontend-error at load): onnx/a/known fails by "
            "frontend-error at run" in capsys.readouterr().out
        )


class TestUpdate:
    def test_what_passes_goes_and_the_mode_stays(
        self, lists: tuple[Path, Path], tools: SimpleNamespace, tmp_path: Path, capsys: Capture
    ) -> None:
        lists[0].chmod(0o640)
        file = results(tmp_path, tools.make_row("onnx/a/known"))
        assert main(["expectations", "update", file, "--dry-run"]) == 0
        output = capsys.readouterr().out
        assert '-case = "onnx/a/known"' in output
        assert "not written (--dry-run)" in output
        assert RECORD in lists[0].read_text()
        assert main(["expectations", "update", file]) == 0
        assert lists[0].read_text() == "# First.\nschema = 2\n"
        assert stat.S_IMODE(lists[0].stat().st_mode) == 0o640
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "first.toml", "rows.jsonl", "second.toml",
        ]  # fmt: skip
        output = capsys.readouterr().out
        assert f"{lists[0]}: written" in output
        assert f"{lists[1]}: nothing to change" in output

    def test_what_is_left_to_a_person(
        self, lists: tuple[Path, Path], tools: SimpleNamespace, tmp_path: Path, capsys: Capture
    ) -> None:
        file = results(
            tmp_path,
            tools.failed_row(id="onnx/a/known", versions={"onnx": "1.17"}),
            tools.make_row("onnx/a/known", versions={"onnx": "1.18"}),
            tools.failed_row(Stage.RUN, Reason.CRASH, id="onnx/a/new"),
        )
        assert main(["expectations", "update", file]) == 1
        output = capsys.readouterr().out
        assert "left alone: onnx/a/known" in output
        assert "passes (onnx 1.18)" in output
        assert "not on a list: onnx/a/new" in output
        assert main(["expectations", "update", file, "--json"]) == 1
        record = json.loads(capsys.readouterr().out)
        assert record["unlisted"] == ["onnx/a/new"]
        assert [each["changed"] for each in record["lists"]] == [False, False]

    def test_adding(
        self, lists: tuple[Path, Path], tools: SimpleNamespace, tmp_path: Path, capsys: Capture
    ) -> None:
        file = results(tmp_path, tools.failed_row(Stage.RUN, Reason.CRASH, id="onnx/a/new"))
        add = ["expectations", "update", file, "--add", "onnx/a/new"]
        assert main(add) == 2
        assert "--file" in capsys.readouterr().err
        add += ["--file", str(lists[1])]
        assert main(add) == 2
        assert "--why and --link" in capsys.readouterr().err
        assert main([*add, "--why", "it dies", "--link", "https://example.org/2"]) == 0
        assert 'target = "llvm"' in lists[1].read_text()
        assert main(["expectations", "check"]) == 0
        assert "2 known failures" in capsys.readouterr().out

    def test_adding_what_the_results_do_not_have(
        self, lists: tuple[Path, Path], tools: SimpleNamespace, tmp_path: Path, capsys: Capture
    ) -> None:
        file = results(tmp_path, tools.make_row("onnx/a/new"))
        assert main(["expectations", "update", file, "--add", "onnx/a/nev"]) == 2
        assert "did you mean onnx/a/new?" in capsys.readouterr().err

    def test_the_command_that_an_unexpected_pass_names(
        self, lists: tuple[Path, Path], light_servers: None, tools: SimpleNamespace,
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture,
    ) -> None:  # fmt: skip
        entry = tools.FakeEntry("onnx/a/known", tools.light_build())
        monkeypatch.setattr(zoos, "installed_zoo", lambda: zoos.Zoo((entry,), lists))
        run = ["matrix", "--no-latency", "--report", str(tmp_path / "out" / "all")]
        assert main(run) == 1
        (line,) = (tmp_path / "out" / "all.jsonl").read_text().splitlines()[1:]
        row = json.loads(line)
        assert row["status"] == Status.XPASS
        command = row["message"].split("'")[1].split()
        assert command[0] == "forge"
        assert main(command[1:]) == 0
        assert main(run) == 0
