"""Start a server process and talk to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from validation.isolation.system import last_lines, signal_name
from validation.vocabulary import Stage

# TensorFlow has a server of its own: it is the largest import, and the others do without it.
_COMMON = ("tvm", "tvm.relax", "numpy", "validation.cell")
_MODULES = {
    "onnx": (*_COMMON, "onnx", "onnxruntime", "tvm.relax.frontend.onnx", "torch"),
    "torch": (*_COMMON, "onnx", "onnxruntime", "tvm.relax.frontend.onnx", "torch"),
    "tensorflow": (*_COMMON, "tensorflow", "tvm.relax.frontend.tflite"),
    "keras": (*_COMMON, "tensorflow", "tvm.relax.frontend.tflite"),
    "tflite": (*_COMMON, "tensorflow", "tvm.relax.frontend.tflite"),
}
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "TVM_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
)


def modules_for(framework: str) -> tuple[str, ...]:
    """Name what a server for cells of this framework imports before it forks."""
    return _MODULES[framework]


class ServerDiedError(Exception):
    """The server process ended, or did not start.

    Attributes:
        stage: Where the cell was.
        module: What the server was importing, where it came no further.
        signal: Name of the signal that ended it.
        stderr: Last lines of what it, or the cell, wrote there.
    """

    def __init__(
        self,
        message: str,
        stage: Stage = Stage.ENVIRONMENT,
        *,
        module: str = "",
        signal: str = "",
        stderr: str = "",
    ) -> None:
        super().__init__(message)
        self.stage = stage
        self.module = module
        self.signal = signal
        self.stderr = stderr


@dataclass
class Job:
    """A child at work. ``exit_code`` is set before ``done`` is."""

    folder: str
    pid: int = 0
    exit_code: int | None = None
    started: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)


class Server:
    """One server process; several threads may use it.

    Args:
        modules: What it imports before it forks.
        threads: Threads that runtimes in its children use.
        folder: Where it keeps what it writes on standard error; it must exist.
        start_seconds: How long importing may take.
    """

    def __init__(
        self, modules: tuple[str, ...], threads: int, folder: Path, start_seconds: float = 180.0
    ) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._over = False
        self._importing = ""
        self._started = False
        self._start_seconds = start_seconds
        # The child's path is ours, with our own folder first: a user's folder may hold packages
        # that are named as ours are.
        path = [str(Path(__file__).resolve().parents[2]), *map(_absolute, sys.path)]
        bootstrap = (
            f"import sys; sys.path[:] = {path!r}; "
            f"from validation.isolation.server import serve; serve({list(modules)!r})"
        )
        handle, name = tempfile.mkstemp(dir=folder, prefix="server-", suffix=".stderr")
        self._stderr = Path(name)
        with os.fdopen(handle, "wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-c", bootstrap],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=_environment(threads),
                start_new_session=True,
            )
        self._listener = threading.Thread(target=self._listen, daemon=True, name="server-replies")
        self._listener.start()

    @property
    def alive(self) -> bool:
        return not self._over and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def signal(self) -> str:
        """The signal that ended the process; empty while it runs, or where it exited."""
        code = self._process.poll()
        return signal_name(-code) if code is not None and code < 0 else ""

    @property
    def end_in_words(self) -> str:
        """Say what ended the process."""
        code = self._process.poll()
        if code is None:
            return ""
        return f" by {self.signal}" if self.signal else f" (exit code {code})"

    def start(self, folder: Path) -> Job:
        """Have a child do the job of a folder, once the server has imported its modules.

        Raises:
            ServerDiedError: The server did not start, or ended before the child started.
        """
        in_time = self._ready.wait(self._start_seconds)
        if not in_time or not self.alive:
            self.close()
            raise self._unstarted(in_time)
        job = Job(str(folder))
        stream = self._process.stdin
        assert stream is not None
        with self._lock:
            try:
                if self._over:
                    raise BrokenPipeError("it had been closed")
                self._jobs[job.folder] = job
                stream.write(f"{folder}\n".encode())
                stream.flush()
            except (OSError, ValueError) as error:  # ValueError: the pipe is closed on our side
                raise ServerDiedError(f"the worker server ended: {error}") from error
        job.started.wait()
        if not job.pid:
            raise ServerDiedError(f"the worker server ended{self.end_in_words}")
        return job

    def _unstarted(self, in_time: bool) -> ServerDiedError:
        if self._started:
            return ServerDiedError(f"the worker server ended{self.end_in_words}")
        stderr = last_lines(self._stderr)
        if not self._importing:
            message = f"the worker server did not start{self.end_in_words}"
            return ServerDiedError(message, signal=self.signal, stderr=stderr)
        how = f"ended it{self.end_in_words}" if in_time else f"took over {self._start_seconds:g} s"
        return ServerDiedError(
            f"the worker server is without {self._importing}: importing it {how}",
            module=self._importing,
            signal=self.signal,
            stderr=stderr,
        )

    def end(self, job: Job) -> None:
        """Kill a child and its process group, and wait for it to be gone."""
        _kill(job)
        job.done.wait(10)

    def close(self) -> None:
        """End the server and its children; it may be called twice."""
        with self._lock:
            for job in self._jobs.values():
                if job.pid:
                    _kill(job)
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            # One that still imports has no children, and would read the end of its input late.
            self._process.wait(5 if self._ready.is_set() else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join(10)

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with stream:
            for line in stream:
                self._take(json.loads(line))
        with self._lock:
            self._over = True
            for job in self._jobs.values():
                # Its children outlive a server that was killed.
                if job.pid:
                    _kill(job)
                job.started.set()
                job.done.set()
            self._jobs.clear()
        self._ready.set()

    def _take(self, record: dict[str, Any]) -> None:
        if "importing" in record:
            self._importing = record["importing"]
            return
        if "ready" in record:
            self._started = True
            self._ready.set()
            return
        with self._lock:
            job = self._jobs[record["job"]]
            if "exit" in record:
                del self._jobs[record["job"]]
        if "pid" in record:
            job.pid = record["pid"]
            job.started.set()
        else:
            job.exit_code = record["exit"]
            job.done.set()


def _absolute(entry: str) -> str:
    # The child works in another folder. What is no path is a path hook's own, as for editable
    # installations, and must stay as it is.
    return os.path.abspath(entry) if not entry or os.path.exists(entry) else entry


def _kill(job: Job) -> None:
    # The child may not have made its group yet.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(job.pid, signal.SIGKILL)


def _environment(threads: int) -> dict[str, str]:
    environment = {**os.environ, **{name: str(threads) for name in _THREAD_VARIABLES}}
    environment["TVM_BIND_THREADS"] = "0"
    # TensorFlow reports every optional CPU feature and plugin on standard error.
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return environment
