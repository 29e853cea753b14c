"""The server and the client's end of it, without the pool."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import psutil
import pytest

from validation.isolation.client import Job, Server, ServerDiedError, modules_for
from validation.isolation.family import ProcessFamily
from validation.isolation.worker import JOB, ROW, STAGE
from validation.result import from_json


@pytest.fixture
def server(tools: SimpleNamespace, tmp_path: Path) -> Iterator[Server]:
    server = Server(tools.LIGHT_SERVER, 3, tmp_path)
    yield server
    server.close()


@pytest.fixture
def folder_for(tmp_path: Path, tools: SimpleNamespace) -> Any:
    """Write the job of a build function into a folder."""

    def folder_for(build: Any, name: str = "job") -> Path:
        folder = tmp_path / name
        folder.mkdir()
        case = tools.make_case("onnx/a/b", build)
        (folder / JOB).write_bytes(cloudpickle.dumps((case, "llvm", None), pickle.HIGHEST_PROTOCOL))
        return folder

    return folder_for


def finished(job: Job) -> Job:
    assert job.done.wait(60)
    return job


def sleeping() -> Any:
    def build() -> None:
        import time

        time.sleep(1000)

    return build


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_a_job_writes_its_row_and_its_stage(server: Server, folder_for: Any, tools: Any) -> None:
    folder = folder_for(tools.light_build())
    assert finished(server.start(folder)).exit_code == 0
    assert from_json((folder / ROW).read_text())
    assert (folder / STAGE).read_text().strip() == "compare"
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [JOB, ROW, STAGE, "scratch", "stdout", "stderr"]
    )


def test_a_child_s_surroundings(server: Server, folder_for: Any, tmp_path: Path) -> None:
    file = str(tmp_path / "report")

    def build() -> None:
        import json
        import os
        import signal
        import sys

        print("to standard output")
        record = {
            "cwd": os.getcwd(),
            "group": os.getpgid(0) == os.getpid(),
            "threads": [os.environ[name] for name in ("OMP_NUM_THREADS", "TVM_NUM_THREADS")],
            "stdin": os.read(0, 10).decode(),
            "descriptors": [
                os.readlink(f"/proc/self/fd/{name}")
                for name in os.listdir("/proc/self/fd")
                if os.path.exists(f"/proc/self/fd/{name}")
            ],
            "sigint": signal.getsignal(signal.SIGINT) == signal.SIG_DFL,
            "path": sys.path,
        }
        with open(file, "w") as stream:
            json.dump(record, stream)

    folder = folder_for(build)
    finished(server.start(folder))
    record = json.loads((tmp_path / "report").read_text())
    assert record["cwd"] == str(folder / "scratch")
    assert record["group"]
    assert record["threads"] == ["3", "3"]
    assert record["stdin"] == ""
    assert record["sigint"]
    assert "" not in record["path"]
    assert set(filter(None, sys.path)) <= set(record["path"])
    assert not [name for name in record["descriptors"] if name.startswith("pipe:")]
    assert (folder / "stdout").read_text() == "to standard output\n"


def test_jobs_run_side_by_side_and_report_their_own_ends(server: Server, folder_for: Any) -> None:
    def build_for(code: int) -> Any:
        def build() -> None:
            import os

            os._exit(code)

        return build

    jobs = [server.start(folder_for(build_for(code), f"job{code}")) for code in range(5, 15)]
    assert [finished(job).exit_code for job in jobs] == list(range(5, 15))


def test_ending_a_job(server: Server, folder_for: Any, tools: Any) -> None:
    job = server.start(folder_for(sleeping()))
    server.end(job)
    assert job.exit_code == -signal.SIGKILL
    assert finished(server.start(folder_for(tools.light_build(), "next"))).exit_code == 0


def test_what_a_crashed_child_had_started_is_ended(
    server: Server, folder_for: Any, tmp_path: Path
) -> None:
    file = str(tmp_path / "pid")

    def build() -> None:
        import os
        import subprocess

        child = subprocess.Popen(["sleep", "1000"])
        with open(file, "w") as stream:
            stream.write(str(child.pid))
        os.abort()

    assert finished(server.start(folder_for(build))).exit_code == -signal.SIGABRT
    assert gone(int((tmp_path / "pid").read_text()))


def test_closing_ends_the_children(server: Server, folder_for: Any) -> None:
    jobs = [server.start(folder_for(sleeping(), f"job{i}")) for i in range(2)]
    server.close()
    server.close()
    assert not server.alive
    assert gone(server.pid)
    assert all(gone(job.pid) for job in jobs)
    with pytest.raises(ServerDiedError):
        server.start(folder_for(sleeping(), "late"))


def test_a_killed_server_takes_its_children_along(server: Server, folder_for: Any) -> None:
    job = server.start(folder_for(sleeping()))
    os.kill(server.pid, signal.SIGKILL)
    assert finished(job).exit_code is None
    assert gone(job.pid)
    assert not server.alive
    with pytest.raises(ServerDiedError):
        server.start(folder_for(sleeping(), "late"))


def test_a_module_that_cannot_be_imported_is_the_cell_s_matter(
    folder_for: Any, tools: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken_module.py").write_text("raise RuntimeError('no')")
    (tmp_path / "noisy_module.py").write_text("print('{\"job\": 1}')")
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = ("nothing_of_that_name", "broken_module", "noisy_module", "validation.cell")
    server = Server(modules, 1, tmp_path)
    try:
        assert finished(server.start(folder_for(tools.light_build()))).exit_code == 0
    finally:
        server.close()


def test_a_server_that_crashes_while_it_imports(
    folder_for: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "deadly_module.py").write_text("import os; os.abort()")
    monkeypatch.syspath_prepend(str(tmp_path))
    server = Server(("deadly_module",), 1, tmp_path)
    with pytest.raises(ServerDiedError, match="without deadly_module") as caught:
        server.start(folder_for(sleeping()))
    assert (caught.value.module, caught.value.signal) == ("deadly_module", "SIGABRT")
    assert gone(server.pid)


def test_our_own_packages_come_first(
    folder_for: Any, tools: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "validation").mkdir()
    (tmp_path / "validation" / "__init__.py").write_text("raise RuntimeError('the wrong one')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), *sys.path])
    server = Server(tools.LIGHT_SERVER, 1, tmp_path)
    try:
        assert finished(server.start(folder_for(tools.light_build()))).exit_code == 0
    finally:
        server.close()


def test_tensorflow_has_a_server_of_its_own() -> None:
    assert modules_for("onnx") == modules_for("torch")
    assert "tensorflow" not in modules_for("onnx")
    assert "torch" not in modules_for("keras")
    assert modules_for("tensorflow") == modules_for("keras") == modules_for("tflite")


class TestFamily:
    def test_a_process_that_has_ended(self) -> None:
        family = ProcessFamily(2**22 + 1)
        assert family.resident() == 0
        family.kill()

    def test_memory_of_a_living_one(self) -> None:
        family = ProcessFamily(os.getpid())
        assert family.resident() > 1 << 20
