"""Hand cells to servers, and always give a row."""

from __future__ import annotations

import concurrent.futures
import contextlib
import errno
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from forge import InvalidInput
from forge.frameworks import require
from validation import environment
from validation.blame.stages import with_blame
from validation.case import Case
from validation.isolation.client import Server, ServerDiedError, modules_for
from validation.isolation.outcome import (
    DIED,
    STDERR,
    Runner,
    Work,
    has_row,
    has_verdict,
    row_of,
    stage_of,
    write_job,
)
from validation.isolation.scratch import ScratchFolder
from validation.isolation.signals import held_signals
from validation.isolation.system import last_lines
from validation.isolation.watching import watch
from validation.references import framework_named
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

_DEATHS = frozenset({Reason.CRASH, Reason.TIMEOUT, Reason.OUT_OF_MEMORY})


class WorkerPool:
    """Runs cells in child processes, ``jobs`` of them at a time.

    Use it as a context manager; leaving it ends every process it started. A cell whose server dies
    beneath it runs once more, on a server of its own: it may have been another cell's doing. A
    module whose import ends a server is left to the cells that need it.

    Args:
        jobs: How many cells run at the same time.
        threads: Threads for each runtime in a child; set before a framework is imported.
        modules: What a server imports before it forks for cells of a framework.
        start_seconds: How long it may take to import them.

    Raises:
        MissingFramework: cloudpickle or psutil is not installed.
    """

    def __init__(
        self,
        jobs: int = 1,
        threads: int = 1,
        modules: Callable[[str], tuple[str, ...]] = modules_for,
        start_seconds: float = 180.0,
    ) -> None:
        require("cloudpickle", "sending a case to a worker process")
        require("psutil", "watching a worker's memory")
        self._threads = threads
        self._modules = modules
        self._start_seconds = start_seconds
        self._servers: dict[str, Server] = {}
        self._without: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._scratch = ScratchFolder()
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

    def submit(
        self, case: Case, target: Any, run: Runner | None = None
    ) -> concurrent.futures.Future[CheckResult]:
        """Queue one cell; the future gives its row and raises nothing of the cell's.

        Args:
            case: What to check.
            target: A TVM target.
            run: Called in the child instead of ``run_cell``; it must survive ``cloudpickle``.
                Where it has a method ``after_death(row, until)``, what that gives is run in
                another child when the first one died.
        """
        return self._executor.submit(self._run, case, target, run)

    def close(self) -> None:
        """End every process and remove the pool's files; an interrupt waits until that is done."""
        with held_signals():
            self._stopping.set()
            # Before the servers end, or a queued cell would start the next one.
            self._executor.shutdown(wait=False, cancel_futures=True)
            with self._lock:
                servers, self._servers = list(self._servers.values()), {}
            for server in servers:
                server.close()
            self._executor.shutdown(wait=True)
            self._scratch.remove()

    def _run(self, case: Case, target: Any, run: Runner | None) -> CheckResult:
        row = with_blame(self._row((case, target, run)))
        after_death = getattr(run, "after_death", None)
        died = row.reason in _DEATHS or any(note.startswith(DIED) for note in row.notes)
        if after_death is None or not died or row.bundle or row.stage is None:
            return row
        # The recording itself may die: the last one runs nothing of the case. The verdict stays.
        for until in (row.stage, Stage.ENVIRONMENT):
            recorded = self._row((case, target, after_death(row, until)))
            if recorded.bundle:
                return row.changed(bundle=recorded.bundle)
        return row.changed(notes=(*row.notes, "no bundle could be written"))

    def _row(self, work: Work) -> CheckResult:
        case, target, _ = work
        row = CheckResult(
            case.id,
            case.framework,
            str(target),
            Status.FAIL,
            Stage.ENVIRONMENT,
            Reason.ENVIRONMENT_ERROR,
            environment={"processor": environment.processor(), "threads": str(case.threads)},
        )
        try:
            packages = framework_named(case.framework).packages
            row = row.changed(versions=environment.versions(packages))
            return self._retried(work, row)
        except InvalidInput as error:
            return row.changed(reason=Reason.INVALID_INPUT, message=str(error))
        except ServerDiedError as error:
            return row.changed(
                stage=error.stage, message=str(error), signal=error.signal, stderr=error.stderr
            )
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = Reason.DISK_FULL if full else Reason.ENVIRONMENT_ERROR
            message = f"the worker's folder in {self._scratch.path} cannot be made: {error}"
            return row.changed(reason=reason, message=message)
        except Exception as error:
            return row.changed(message=f"{type(error).__name__}: {error}")

    def _retried(self, work: Work, row: CheckResult) -> CheckResult:
        alone = False
        while True:
            try:
                return self._in_child(work, row, alone)
            except ServerDiedError as error:
                if error.module:  # the next server is without it, so this comes to an end
                    self._without[error.module] = str(error)
                elif alone:
                    raise
                else:
                    alone = True

    def _in_child(self, work: Work, row: CheckResult, alone: bool) -> CheckResult:
        case = work[0]
        wanted = self._modules(case.framework)
        modules = tuple(name for name in wanted if name not in self._without)
        notes = [self._without[name] for name in wanted if name in self._without]
        with (
            self._job_folder() as folder,
            self._server(modules, folder if alone else None) as server,
        ):
            write_job(folder, work)
            job = server.start(folder)
            ending = watch(job, server.end, folder, case, self._stopping)
            server_died = ending.limit is None and ending.exit_code is None
            if server_died and not has_row(folder) and not has_verdict(folder):
                raise ServerDiedError(
                    f"the worker server was killed{server.end_in_words} while the cell ran, twice",
                    stage_of(folder),
                    signal=server.signal,
                    stderr=last_lines(folder / STDERR),
                )
            return row_of(folder, row.changed(notes=(*row.notes, *notes)), ending)

    @contextlib.contextmanager
    def _job_folder(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(dir=self._scratch.path))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def _server(self, modules: tuple[str, ...], owner: Path | None) -> Iterator[Server]:
        """Give the server that cells with the same modules share, or one for the owner alone."""
        key = " ".join(modules) if owner is None else str(owner)
        with self._lock:
            if self._stopping.is_set():
                raise ServerDiedError("the run was interrupted")
            server = self._servers.get(key)
            if server is None or not server.alive:
                server = Server(modules, self._threads, self._scratch.path, self._start_seconds)
                self._servers[key] = server
        try:
            yield server
        finally:
            if owner is not None:
                server.close()
                with self._lock:
                    self._servers.pop(key, None)
