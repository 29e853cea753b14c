"""Hand cells to servers, watch the children's time and memory, and always give a row."""

from __future__ import annotations

import concurrent.futures
import pickle
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from forge.frameworks import require
from validation.case import Case
from validation.isolation.client import Server, ServerDied, modules_for
from validation.isolation.worker import JOB, ROW, STAGE
from validation.result import CheckResult, from_json
from validation.vocabulary import Reason, Stage, Status

_POLL_SECONDS = 0.05
_STDERR_LINES = 15


class WorkerPool:
    """Runs cells in child processes, ``jobs`` of them at a time.

    Use it as a context manager; leaving it ends every process it started.

    Args:
        jobs: How many cells run at the same time.
        threads: Threads for each runtime in a child; set before a framework is imported.
    """

    def __init__(self, jobs: int = 1, threads: int = 1) -> None:
        self._threads = threads
        self._servers: dict[str, Server] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._folder = Path(tempfile.mkdtemp(prefix="forge-check-"))
        self._executor = concurrent.futures.ThreadPoolExecutor(jobs, thread_name_prefix="cell")

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def submit(self, case: Case, target: Any) -> concurrent.futures.Future[CheckResult]:
        """Queue one cell; the future gives its row and raises nothing of the cell's."""
        return self._executor.submit(self._run, case, target)

    def close(self) -> None:
        """End every process and remove the pool's files."""
        self._stopping.set()
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            server.close()
        self._executor.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, case: Case, target: Any) -> CheckResult:
        row = CheckResult(case.id, case.framework, str(target), Status.FAIL)
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            _write_job(folder, case, target)
            server = self._server_for(case.framework)
            return self._watch(server, folder, case, row)
        except ServerDied as error:
            return row.changed(
                stage=Stage.ENVIRONMENT, reason=Reason.ENVIRONMENT_ERROR, message=str(error)
            )
        except OSError as error:
            full = error.errno == 28
            return row.changed(
                stage=Stage.ENVIRONMENT,
                reason=Reason.DISK_FULL if full else Reason.ENVIRONMENT_ERROR,
                message=str(error),
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _server_for(self, framework: str) -> Server:
        modules = modules_for(framework)
        key = " ".join(modules)
        with self._lock:
            server = self._servers.get(key)
            if server is None or not server.alive:
                server = self._servers[key] = Server(modules, self._threads)
        return server

    def _watch(self, server: Server, folder: Path, case: Case, row: CheckResult) -> CheckResult:
        psutil = require("psutil", "watching a worker's memory")
        job = server.start(folder)
        began = time.monotonic()
        peak = 0
        verdict: tuple[Reason, str] | None = None
        while not job.done.wait(_POLL_SECONDS):
            peak = max(peak, _resident(psutil, job.pid))
            if self._stopping.is_set():
                verdict = (Reason.ENVIRONMENT_ERROR, "the run was interrupted")
            elif time.monotonic() - began > case.time_limit:
                verdict = (Reason.TIMEOUT, f"no result after {case.time_limit:g} s")
            elif peak > case.memory_limit:
                verdict = (
                    Reason.OUT_OF_MEMORY,
                    f"{peak >> 20} MiB resident, the limit is {case.memory_limit >> 20} MiB",
                )
            if verdict:
                server.end(job)
                break
        return _row_of(folder, row.changed(peak_memory=peak), job.exit_code, verdict)


def _write_job(folder: Path, case: Case, target: Any) -> None:
    cloudpickle = require("cloudpickle", "sending a case to a worker process")
    with open(folder / JOB, "wb") as stream:
        cloudpickle.dump((case, target), stream, protocol=pickle.HIGHEST_PROTOCOL)


def _resident(psutil: Any, pid: int) -> int:
    """Sum the resident memory of a child and of what it started."""
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    return sum(_own_resident(psutil, member) for member in family)


def _own_resident(psutil: Any, process: Any) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _row_of(
    folder: Path,
    row: CheckResult,
    exit_code: int | None,
    verdict: tuple[Reason, str] | None,
) -> CheckResult:
    """Read what the child wrote, or say how it ended."""
    if verdict is None and (folder / ROW).exists():
        return from_json((folder / ROW).read_text(encoding="utf-8")).changed(peak_memory=row.peak_memory)
    row = row.changed(stage=_stage(folder), stderr=_tail(folder / "stderr"))
    if verdict:
        return row.changed(reason=verdict[0], message=verdict[1])
    if exit_code is not None and exit_code < 0:
        name = _signal_name(-exit_code)
        return row.changed(reason=Reason.CRASH, signal=name, message=f"the worker died of {name}")
    return row.changed(
        reason=Reason.CRASH, message=f"the worker exited with {exit_code} and left no result"
    )


def _stage(folder: Path) -> Stage:
    try:
        return Stage((folder / STAGE).read_text().strip())
    except (OSError, ValueError):
        return Stage.ENVIRONMENT


def _tail(path: Path) -> str:
    try:
        with open(path, "rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - 8192))
            lines = stream.read().decode(errors="replace").rstrip().splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_STDERR_LINES:])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


Progress = Callable[[CheckResult], None]
