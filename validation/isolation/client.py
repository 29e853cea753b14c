"""Start a server process and talk to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
_START_SECONDS = 180.0


def modules_for(framework: str) -> tuple[str, ...]:
    """Name what a server for cells of this framework imports before it forks."""
    return _MODULES[framework]


class ServerDied(Exception):
    """The server process ended, or did not start."""


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
    """

    def __init__(self, modules: tuple[str, ...], threads: int) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        # The child's path is ours, with our own folder first: a user's folder may hold packages
        # that are named as ours are.
        path = [str(Path(__file__).resolve().parents[2]), *sys.path]
        bootstrap = (
            f"import sys; sys.path[:] = {path!r}; "
            f"from validation.isolation.server import serve; serve({list(modules)!r})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(threads),
            start_new_session=True,
        )
        threading.Thread(target=self._listen, daemon=True, name="server-replies").start()
        if not self._ready.wait(_START_SECONDS) or not self.alive:
            self.close()
            raise ServerDied("the worker server did not start; its messages stand on standard error")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def start(self, folder: Path) -> Job:
        """Have a child do the job of a folder.

        Raises:
            ServerDied: The server ended before the child started.
        """
        job = Job(str(folder))
        stream = self._process.stdin
        assert stream is not None
        with self._lock:
            self._jobs[job.folder] = job
            try:
                stream.write(f"{folder}\n".encode())
                stream.flush()
            except OSError as error:
                raise ServerDied(f"the worker server ended: {error}") from error
        job.started.wait()
        if not job.pid:
            raise ServerDied("the worker server ended")
        return job

    def end(self, job: Job) -> None:
        """Kill a child and what it started, and wait for it to be gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(job.pid, signal.SIGKILL)
        job.done.wait(10)

    def close(self) -> None:
        """End the server and its children."""
        with self._lock:
            for job in self._jobs.values():
                if job.pid and not job.done.is_set():
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(job.pid, signal.SIGKILL)
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        for line in stream:
            record: dict[str, Any] = json.loads(line)
            if "ready" in record:
                self._ready.set()
                continue
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
        self._ready.set()
        with self._lock:
            for job in self._jobs.values():
                job.started.set()
                job.done.set()


def _environment(threads: int) -> dict[str, str]:
    environment = {**os.environ, **{name: str(threads) for name in _THREAD_VARIABLES}}
    environment["TVM_BIND_THREADS"] = "0"
    # TensorFlow reports every optional CPU feature and plugin on standard error.
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    return environment
