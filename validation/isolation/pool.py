"""Hand cells to servers, watch the children's time and memory, and always give a row."""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import pickle
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from forge import InvalidInput
from forge.frameworks import require
from validation import environment
from validation.case import Case
from validation.isolation.client import Job, Server, ServerDiedError, modules_for
from validation.isolation.family import ProcessFamily
from validation.isolation.worker import JOB, ROW, STAGE
from validation.references import framework_named
from validation.result import CheckResult, from_json
from validation.vocabulary import Reason, Stage, Status

_POLL_SECONDS = 0.05
# Listing processes takes longer the more there are; watching may take this share of the time.
_POLL_SHARE = 0.05
_STDERR_LINES = 15

Verdict = tuple[Reason, str]


class WorkerPool:
    """Runs cells in child processes, ``jobs`` of them at a time.

    Use it as a context manager; leaving it ends every process it started. A cell whose server dies
    beneath it runs once more, on a server of its own: it may have been another cell's doing.

    Args:
        jobs: How many cells run at the same time.
        threads: Threads for each runtime in a child; set before a framework is imported.
        modules: What a server imports before it forks for cells of a framework.

    Raises:
        MissingFramework: cloudpickle or psutil is not installed.
    """

    def __init__(
        self,
        jobs: int = 1,
        threads: int = 1,
        modules: Callable[[str], tuple[str, ...]] = modules_for,
    ) -> None:
        require("cloudpickle", "sending a case to a worker process")
        require("psutil", "watching a worker's memory")
        self._threads = threads
        self._modules = modules
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
        # Before the servers end, or a queued cell would start the next one.
        self._executor.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        for server in servers:
            server.close()
        self._executor.shutdown(wait=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, case: Case, target: Any) -> CheckResult:
        row = CheckResult(
            case.id,
            case.framework,
            str(target),
            Status.FAIL,
            Stage.ENVIRONMENT,
            Reason.ENVIRONMENT_ERROR,
        )
        try:
            packages = framework_named(case.framework).packages
            row = row.changed(versions=environment.versions(packages))
            try:
                return self._in_child(case, target, row, alone=False)
            except ServerDiedError:
                return self._in_child(case, target, row, alone=True)
        except InvalidInput as error:
            return row.changed(reason=Reason.INVALID_INPUT, message=str(error))
        except ServerDiedError as error:
            return row.changed(stage=error.stage or row.stage, message=str(error))
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = Reason.DISK_FULL if full else Reason.ENVIRONMENT_ERROR
            return row.changed(reason=reason, message=str(error))
        except Exception as error:
            return row.changed(message=f"{type(error).__name__}: {error}")

    def _in_child(self, case: Case, target: Any, row: CheckResult, alone: bool) -> CheckResult:
        with (
            self._job_folder() as folder,
            self._server_for(case, folder if alone else None) as server,
        ):
            _write_job(folder, case, target)
            job = server.start(folder)
            peak, verdict = self._watch(server, job, case)
            if verdict is None and job.exit_code is None and not (folder / ROW).exists():
                died = "the worker server was killed while the cell ran, twice"
                raise ServerDiedError(died, _stage(folder))
            return _row_of(folder, row.changed(peak_memory=peak), job.exit_code, verdict)

    @contextlib.contextmanager
    def _job_folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def _server_for(self, case: Case, owner: Path | None) -> Iterator[Server]:
        """Give the server that cells of a framework share, or one for the ``owner`` alone."""
        modules = self._modules(case.framework)
        key = " ".join(modules) if owner is None else str(owner)
        with self._lock:
            if self._stopping.is_set():
                raise ServerDiedError("the run was interrupted")
            server = self._servers.get(key)
            if server is None or not server.alive:
                server = self._servers[key] = Server(modules, self._threads)
        try:
            yield server
        finally:
            if owner is not None:
                server.close()
                with self._lock:
                    self._servers.pop(key, None)

    def _watch(self, server: Server, job: Job, case: Case) -> tuple[int, Verdict | None]:
        """Wait for a child, or end it; give its largest resident size and why it was ended."""
        family = ProcessFamily(job.pid)
        began = time.monotonic()
        peak, pause = 0, 0.0
        verdict: Verdict | None = None
        while not job.done.wait(pause):
            looked = time.monotonic()
            peak = max(peak, family.resident())
            pause = max(_POLL_SECONDS, (time.monotonic() - looked) / _POLL_SHARE)
            if self._stopping.is_set():
                verdict = (Reason.ENVIRONMENT_ERROR, "the run was interrupted")
            elif looked - began > case.time_limit:
                verdict = (Reason.TIMEOUT, f"no result after {case.time_limit:g} s")
            elif peak > case.memory_limit:
                verdict = (
                    Reason.OUT_OF_MEMORY,
                    f"{peak >> 20} MiB resident, the limit is {case.memory_limit >> 20} MiB",
                )
            if verdict:
                server.end(job)
                break
        family.kill()
        return peak, verdict


def _write_job(folder: Path, case: Case, target: Any) -> None:
    cloudpickle = require("cloudpickle", "sending a case to a worker process")
    with open(folder / JOB, "wb") as stream:
        cloudpickle.dump((case, target), stream, protocol=pickle.HIGHEST_PROTOCOL)


def _row_of(
    folder: Path, row: CheckResult, exit_code: int | None, verdict: Verdict | None
) -> CheckResult:
    """Read what the child wrote, or say how it ended."""
    if verdict is None and (folder / ROW).exists():
        written = from_json((folder / ROW).read_text(encoding="utf-8"))
        return written.changed(
            id=row.id,
            framework=row.framework,
            target=row.target,
            versions=written.versions or row.versions,
            peak_memory=row.peak_memory,
        )
    row = row.changed(stage=_stage(folder), stderr=_tail(folder / "stderr"))
    if verdict:
        return row.changed(reason=verdict[0], message=verdict[1])
    if exit_code is not None and exit_code < 0:
        name = _signal_name(-exit_code)
        message = f"the worker died of {name}"
        if name == "SIGKILL":
            message += ", as when the system runs out of memory"
        return row.changed(reason=Reason.CRASH, signal=name, message=message)
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
