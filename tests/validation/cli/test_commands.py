"""The commands that check nothing themselves: inspect, compile, report, zoo, doctor, matrix."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from validation import zoos
from validation.cli import main
from validation.report.files import read_rows
from validation.vocabulary import Status

Capture = pytest.CaptureFixture[str]


class TestInspect:
    def test_text(self, onnx_file: Path, capsys: Capture) -> None:
        assert main(["inspect", str(onnx_file), "--script"]) == 0
        text = capsys.readouterr().out
        assert "x: Nx3 float32" in text
        assert "relax.nn.relu" in text
        assert "def main" in text

    def test_json(self, onnx_file: Path, capsys: Capture) -> None:
        assert main(["inspect", str(onnx_file), "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record["inputs"] == [{"name": "x", "shape": ["N", 3], "dtype": "float32"}]
        assert record["operators"] == {"relax.nn.relu": 1}

    def test_a_missing_file(self, tmp_path: Path, capsys: Capture) -> None:
        for arguments in ([], ["--framework", "onnx"]):
            assert main(["inspect", str(tmp_path / "none.onnx"), *arguments]) == 2
            captured = capsys.readouterr()
            assert "none.onnx" in captured.err
            assert captured.out == ""


class TestCompile:
    def test_a_library(self, onnx_file: Path, tmp_path: Path) -> None:
        import numpy as np

        import forge

        library = tmp_path / "relu.so"
        assert main(["compile", str(onnx_file), "-o", str(library)]) == 0
        executable = forge.load_executable(library)
        result = executable.run({"x": np.array([[-1, 2, -3]], np.float32)})
        np.testing.assert_array_equal(result["y"], [[0, 2, 0]])

    def test_where_nothing_can_be_written(
        self, onnx_file: Path, tmp_path: Path, capsys: Capture
    ) -> None:
        code = main(["compile", str(onnx_file), "-o", str(tmp_path / "none" / "relu.so")])
        assert code in (1, 2, 3)
        assert "internal error" not in capsys.readouterr().err

    @pytest.mark.parametrize("option", [["--opt", "nonsense"], ["--target", "nonsense"]])
    def test_bad_words(
        self, onnx_file: Path, tmp_path: Path, option: list[str], capsys: Capture
    ) -> None:
        code = main(["compile", str(onnx_file), "-o", str(tmp_path / "relu.so"), *option])
        assert code in (1, 2)
        assert "nonsense" in capsys.readouterr().err


class TestReport:
    def test_files_are_merged_and_written(
        self, tools: SimpleNamespace, tmp_path: Path, capsys: Capture
    ) -> None:
        (tmp_path / "a.jsonl").write_text(tools.make_row().to_json())
        (tmp_path / "b.jsonl").write_text(tools.make_row("torch/a/b", Status.SKIP).to_json())
        files = [str(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]
        assert main(["report", *files, "-o", str(tmp_path / "out" / "v1.2")]) == 0
        assert "QUALIFIED IN PART, 1 of 2 cells not covered" in capsys.readouterr().out
        assert "## Not covered" in (tmp_path / "out" / "v1.2.md").read_text()
        assert len(read_rows([tmp_path / "out" / "v1.2.json"])) == 2
        assert main(["report", files[1]]) == 3
        capsys.readouterr()
        assert main(["report", *files, "--json"]) == 0
        assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [
            "onnx/a/b", "torch/a/b",
        ]  # fmt: skip

    def test_bad_files(self, tmp_path: Path, capsys: Capture) -> None:
        (tmp_path / "bad.jsonl").write_text("{")
        for name in ("none.jsonl", "bad.jsonl"):
            assert main(["report", str(tmp_path / name)]) == 2
            assert name in capsys.readouterr().err


class TestZoo:
    def test_json(self, capsys: Capture) -> None:
        assert main(["zoo", "onnx/*", "--json"]) == 0
        records = json.loads(capsys.readouterr().out)
        assert records
        assert all(record["id"].startswith("onnx/") for record in records)

    def test_an_unknown_id_or_suite(self, capsys: Capture) -> None:
        assert main(["zoo", "onnx/none/such"]) == 2
        assert main(["zoo", "--suite", "smok"]) == 2
        assert "the suites are" in capsys.readouterr().err


def test_doctor(capsys: Capture) -> None:
    assert main(["doctor", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record["frameworks"]) == {"onnx", "torch", "tensorflow", "keras", "tflite"}
    assert record["frameworks"]["onnx"]["missing"] == []
    assert main(["doctor"]) == 0
    assert "onnx         ready" in capsys.readouterr().out


class TestMatrix:
    @pytest.fixture(autouse=True)
    def zoo(
        self, light_servers: None, tools: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entries = (
            tools.FakeEntry("onnx/a/bad", lambda: 1 / 0),
            tools.FakeEntry("onnx/a/good", tools.light_build()),
        )
        monkeypatch.setattr(zoos, "installed_zoo", lambda: zoos.Zoo(entries, ()))

    def test_the_report(self, tmp_path: Path, capsys: Capture) -> None:
        stem = tmp_path / "reports" / "v1.2"
        assert main(["matrix", "--report", str(stem), "--no-latency"]) == 1
        assert sorted(path.name for path in stem.parent.iterdir()) == [
            "v1.2-bundles", "v1.2.json", "v1.2.jsonl", "v1.2.md",
        ]  # fmt: skip
        captured = capsys.readouterr()
        assert "[2/2]" in captured.err
        assert "NOT QUALIFIED: of 2 cells: passed 1" in captured.out
        assert len(read_rows([stem.with_name("v1.2.jsonl")])) == 2

    def test_json(self, capsys: Capture) -> None:
        assert main(["matrix", "onnx/a/good", "--json", "--no-latency"]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)["status"] == "PASS"
        assert captured.err == ""

    def test_nothing_to_check(self, capsys: Capture) -> None:
        assert main(["matrix", "--framework", "torch"]) == 3
        assert "NOTHING CHECKED" in capsys.readouterr().out

    def test_an_unknown_id(self, capsys: Capture) -> None:
        assert main(["matrix", "onnx/a/goood"]) == 2
        assert "onnx/a/good" in capsys.readouterr().err
