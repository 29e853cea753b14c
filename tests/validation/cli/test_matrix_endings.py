"""How a run of many cells ends: killed, interrupted, on a full disk; and what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from validation.report.files import read_rows
from validation.result import CheckResult
from validation.vocabulary import Status

# Cells a0, a1 … leave a mark each time they are built; with a file "hang" beside the marks,
# those of letters from h on hang, with a process of a session of its own.
ZOO = """
import os
from functools import partial
from types import SimpleNamespace
import validation.matrix
from validation.isolation import WorkerPool

modules = {modules!r}
validation.matrix.WorkerPool = partial(WorkerPool, modules=lambda framework: modules)

def build(name, place):
    import subprocess
    import time
    import numpy as np
    from types import SimpleNamespace
    from validation import judging
    from validation.case import BuiltSample
    from validation.references.onnx import ONNXFramework

    with open(os.path.join(place, name), "a") as stream:
        stream.write("x")
    if name >= "h" and os.path.exists(os.path.join(place, "hang")):
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        time.sleep(1000)
    judging.accumulations = lambda module: 1
    executable = SimpleNamespace(run=dict, device_exists=True)
    loaded = SimpleNamespace(history=(), module=None, compile=lambda target: executable)
    ONNXFramework.session = lambda *arguments: dict
    ONNXFramework.load = lambda *arguments: loaded
    return BuiltSample(None, {{"x": np.arange(3.0)}})

def entries():
    return [
        SimpleNamespace(
            id=f"onnx/user/{{name}}", framework="onnx", description="d", rtol=None, atol=None,
            suites=frozenset({{"users"}}), build=partial(build, name, {place!r}), time_limit=None,
        )
        for name in {names!r}
    ]
"""
Install = Callable[..., None]


class Run:
    """A run of ``forge matrix`` in a process of its own."""

    def __init__(self, *arguments: str, temporary: Path) -> None:
        self.temporary = temporary
        self.process = subprocess.Popen(
            [sys.executable, "-m", "forge", "matrix", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell's background job would ignore the signal.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def wait(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=120)
        return self.process.returncode, output, errors

    def end_by(self, number: int) -> tuple[int, str, str]:
        self.process.send_signal(number)
        return self.wait()

    def processes(self) -> list[psutil.Process]:
        """List all that belongs to it, also what has left its family."""
        return [p for p in psutil.process_iter() if _is_below(p, self.temporary)]

    def all_gone(self, seconds: float = 20) -> bool:
        return until(lambda: not self.processes(), seconds)


def _is_below(process: psutil.Process, folder: Path) -> bool:
    try:
        ours = process.environ().get("TMPDIR", "").startswith(str(folder))
        return ours and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def until(condition: Callable[[], Any], seconds: float = 90) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


@pytest.fixture
def install(
    tmp_path: Path, marks: Path, tools: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> Install:
    """Install a zoo of cells of these names, for subprocesses."""

    def install(*names: str, modules: tuple[str, ...] = tools.LIGHT_SERVER) -> None:
        site = tmp_path / "site"
        info, package = site / "user_zoo-1.0.dist-info", site / "user_zoo"
        for folder in (info, package):
            folder.mkdir(parents=True, exist_ok=True)
        text = ZOO.format(modules=modules, place=str(marks), names=names)
        (package / "__init__.py").write_text(text)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: user-zoo\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[forge.zoo]\nuser = user_zoo:entries\n")
        monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")

    return install


@pytest.fixture
def start(temporary: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start(*arguments: str) -> Run:
        common = ["onnx/user/*", "--no-latency", "--no-bundles"]
        common = common[1:] if arguments[0] == "--resume" else common
        runs.append(Run(*common, *arguments, temporary=temporary))
        return runs[-1]

    yield start
    for run in runs:
        run.process.kill()
        run.process.communicate(timeout=10)
        for process in run.processes():
            process.kill()


def finished(file: Path) -> list[CheckResult]:
    if not file.exists():
        return []
    return [row for row in read_rows([file]) if not row.is_unfinished]


def built(marks: Path) -> dict[str, int]:
    return {path.name: len(path.read_text()) for path in marks.iterdir() if path.name != "hang"}


@pytest.mark.parametrize(("number", "code", "word"), [
    (signal.SIGINT, 130, "interrupted"),
    (signal.SIGTERM, 143, "ended by SIGTERM"),
    (signal.SIGHUP, 129, "ended by SIGHUP"),
])  # fmt: skip
def test_a_signal_ends_it_in_order(
    install: Install, start: Any, marks: Path, tmp_path: Path, temporary: Path,
    number: int, code: int, word: str,
) -> None:  # fmt: skip
    install("a0", "a1", "h0", "h1")
    (marks / "hang").touch()
    run = start("--report", str(tmp_path / "all"))
    file = tmp_path / "all.jsonl"
    assert until(lambda: (marks / "h0").exists() and len(finished(file)) == 2)
    run.process.send_signal(number)
    found, _, errors = run.end_by(number)  # twice, as by an impatient user
    assert found == code
    assert errors.splitlines()[-1] == word
    assert "Traceback" not in errors
    assert run.all_gone()
    assert list(temporary.glob("forge-*")) == []
    assert {row.id for row in finished(file)} == {"onnx/user/a0", "onnx/user/a1"}
    assert len(read_rows([file])) == 4


def test_after_kill_9_nothing_runs_on_and_nothing_is_lost(
    install: Install, start: Any, marks: Path, tmp_path: Path, temporary: Path
) -> None:
    install("a0", "a1", "h0", "h1")
    (marks / "hang").touch()
    run = start("--report", str(tmp_path / "all"))
    file = tmp_path / "all.jsonl"
    assert until(lambda: (marks / "h0").exists() and len(finished(file)) == 2)
    assert any(process.name() == "sleep" for process in run.processes())
    code, _, _ = run.end_by(signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert run.all_gone()
    (left,) = temporary.glob("forge-*")
    first = finished(file)
    with open(file, "a") as stream:  # as a kill in the middle of a write
        stream.write(first[0].to_json()[:100])
    (marks / "hang").unlink()
    code, output, errors = start("--resume", str(file)).wait()
    assert code == 0, errors
    assert "the last line was torn and is dropped" in errors
    assert "2 rows are finished" in errors
    assert "of 4 cells: passed 4" in output
    assert built(marks) == {"a0": 1, "a1": 1, "h0": 2, "h1": 1}
    assert finished(file)[:2] == first
    assert (tmp_path / "all.md").exists()
    assert not left.exists()


def test_a_server_that_still_imports_dies_with_the_run(
    install: Install, start: Any, tmp_path: Path
) -> None:
    modules = tmp_path / "site"
    modules.mkdir()
    (modules / "sleepy.py").write_text(
        f"import pathlib, time; pathlib.Path({str(tmp_path / 'asleep')!r}).touch()\n"
        "import ctypes; ctypes.PyDLL(None).sleep(1000)"
    )
    install("a0", modules=("sleepy",))
    run = start("--report", str(tmp_path / "all"))
    assert until((tmp_path / "asleep").exists)
    run.end_by(signal.SIGKILL)
    assert run.all_gone()


def test_killed_again_and_again_it_comes_to_its_end(
    install: Install, start: Any, marks: Path, tmp_path: Path
) -> None:
    names = [f"a{n}" for n in range(12)]
    install(*names)
    file = tmp_path / "all.jsonl"
    for count in (2, 5, 9):
        run = start("--report", str(tmp_path / "all"), "--resume")
        assert until(
            lambda run=run, count=count: len(finished(file)) >= count or run.process.poll()
        )
        run.end_by(signal.SIGKILL)
    code, _, errors = start("--report", str(tmp_path / "all"), "--resume").wait()
    assert code == 0, errors
    rows = finished(file)
    assert sorted(row.id for row in rows) == sorted(f"onnx/user/{name}" for name in names)
    assert {row.status for row in rows} == {Status.PASS}
    # Each kill costs the cell that was at work, and no other.
    assert sum(built(marks).values()) <= len(names) + 3


def test_two_runs_into_one_file(install: Install, start: Any, marks: Path, tmp_path: Path) -> None:
    install("a0", "h0")
    (marks / "hang").touch()
    run = start("--report", str(tmp_path / "all"))
    assert until((marks / "h0").exists)
    before = (tmp_path / "all.jsonl").read_text()
    for more in ([], ["--resume"]):
        code, _, errors = start("--report", str(tmp_path / "all"), *more).wait()
        assert code == 2
        assert f"another run is writing to {tmp_path / 'all.jsonl'}" in errors
    assert (tmp_path / "all.jsonl").read_text() == before
    assert run.end_by(signal.SIGINT)[0] == 130


def test_a_full_disk_under_the_rows(
    install: Install, start: Any, marks: Path, tmp_path: Path
) -> None:
    names = [f"a{n}" for n in range(20)]
    install(*names)
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(disk), "-o"]
    if subprocess.run([*mount, "size=16k"], check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system takes privileges that are not there")
    try:
        code, _, errors = start("--report", str(disk / "all")).wait()
        assert code == 3, errors
        kept = finished(disk / "all.jsonl")
        assert 0 < len(kept) < len(names)
        assert "No space left on device" in errors
        assert f"On disk and whole: {len(kept)} finished rows of 20 planned" in errors
        assert all(row.id in errors for row in kept)
        subprocess.run([*mount, "remount,size=1m"], check=True)
        code, output, errors = start("--resume", str(disk / "all.jsonl")).wait()
        assert code == 0, errors
        assert "of 20 cells: passed 20" in output
        assert finished(disk / "all.jsonl")[: len(kept)] == kept
        # The cell whose row could not be written, and at most one that had begun meanwhile.
        assert sum(built(marks).values()) <= len(names) + 2
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(("arguments", "text"), [
    (["--resume"], "--resume needs the file"),
    (["--resume", "onnx/user/a0"], "--resume is given 'onnx/user/a0'"),
    (["--resume", "all.jsonl", "--report", "all"], "and --report 'all'"),
    (["--resume", "none.jsonl"], "no file 'none.jsonl'"),
])  # fmt: skip
def test_what_cannot_be_resumed(
    install: Install, start: Any, arguments: list[str], text: str
) -> None:
    install("a0")
    code, _, errors = start(*arguments).wait()
    assert code == 2
    assert text in errors
