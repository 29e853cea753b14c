from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from forge import InvalidInput
from validation.result import from_json
from validation.row_file import RowFile, finished
from validation.vocabulary import Reason, Stage, Status


def test_rows_are_on_disk_at_once_and_come_back(tmp_path: Path, tools: SimpleNamespace) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [tools.make_row(f"onnx/a/{n}", message="two\nlines") for n in range(3)]
    with RowFile(path) as file:
        for count, row in enumerate(rows, start=1):
            file.append(row)
            assert len(path.read_text().splitlines()) == count
    with RowFile(path, resume=True) as file:
        assert list(file.rows.values()) == rows
        file.append(rows[0].changed(message="later"))
        assert file.rows["onnx/a/0", "llvm"].message == "later"
    with RowFile(path, resume=True) as file:
        assert file.rows["onnx/a/0", "llvm"].message == "later"
    with RowFile(path) as file:
        assert file.rows == {}
    assert path.read_text() == ""


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_torn_last_line_is_dropped_and_nothing_else(
    tmp_path: Path, tools: SimpleNamespace, cut: int
) -> None:
    path = tmp_path / "rows.jsonl"
    with RowFile(path) as file:
        file.append(tools.make_row("onnx/a/0"), tools.make_row("onnx/a/1"))
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    path.write_bytes(whole[: len(whole) - len(last) + cut])
    with RowFile(path, resume=True) as file:
        assert [name for name, _ in file.rows] == ["onnx/a/0"]
        assert file.torn
        file.append(tools.make_row("onnx/a/1"))
    assert path.read_bytes() == whole


def test_a_last_line_that_lacks_only_its_end_counts(tmp_path: Path, tools: SimpleNamespace) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(tools.make_row("onnx/a/0").to_json())
    with RowFile(path, resume=True) as file:
        assert not file.torn
        file.append(tools.make_row("onnx/a/1"))
    assert [from_json(line).id for line in path.read_text().splitlines()] == [
        "onnx/a/0",
        "onnx/a/1",
    ]


def test_something_else_cannot_be_resumed(tmp_path: Path, tools: SimpleNamespace) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{tools.make_row().to_json()}\nnot a row\n")
    with pytest.raises(InvalidInput, match="line 2"):
        RowFile(path, resume=True)
    assert path.read_text().endswith("not a row\n")


def test_two_runs_do_not_write_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowFile(path), pytest.raises(InvalidInput, match="another run is writing"):
        RowFile(path, resume=True)
    RowFile(path, resume=True).__exit__(None, None, None)


def test_a_full_disk_leaves_no_half_row(tmp_path: Path) -> None:
    """The limit on file sizes makes a write fall short, and then fail, as a full disk does."""
    path = tmp_path / "rows.jsonl"
    code = f"""
import resource, signal, sys
from pathlib import Path
from validation.result import CheckResult
from validation.row_file import RowFile, RowFileError
from validation.vocabulary import Status
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
row = CheckResult("onnx/a/b", "onnx", "llvm", Status.PASS)
size = len(row.to_json()) + 1
resource.setrlimit(resource.RLIMIT_FSIZE, (2 * size + 40, 2 * size + 40))
with RowFile(Path({str(path)!r})) as file:
    file.append(row); file.append(row)
    try:
        file.append(row)
    except RowFileError as error:
        print(error)
        sys.exit(7)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 7, done.stderr
    assert "--resume" in done.stdout
    assert "On disk and whole: 1 finished rows of 1 planned (onnx/a/b)" in done.stdout
    lines = path.read_text().splitlines()
    assert [from_json(line).id for line in lines] == ["onnx/a/b"] * 2
    assert path.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("special", ["/dev/full", "/dev/null"])
def test_a_device_is_no_place_for_rows(tmp_path: Path, special: str) -> None:
    link = tmp_path / "rows.jsonl"
    link.symlink_to(special)
    with pytest.raises(InvalidInput, match="no regular file"):
        RowFile(link)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(InvalidInput, match="no regular file"):
        RowFile(tmp_path / "rows.jsonl")


def test_planned_rows_are_not_finished(tools: SimpleNamespace) -> None:
    planned = tools.make_row(
        status=Status.SKIP, stage=Stage.ENVIRONMENT, reason=Reason.ENVIRONMENT_ERROR
    )
    done = tools.make_row()
    assert finished([planned, done]) == [done]
    assert json.loads(done.to_json())["schema"] == 2
