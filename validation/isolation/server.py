"""The process that has imported a framework and TVM, and forks a child for each job.

Importing takes 3 to 6 s, a fork 0.1 s. The server starts no thread and calls nothing that
starts one, since a thread pool does not survive a fork. It reads one line a job on standard input,
``folder``, and writes one JSON line before it imports a module, when a child starts, and when one
has ended.

It ends when its input does, also where the client was killed, and takes every process along that a
child has started: what a child leaves behind becomes the server's own child.
"""

from __future__ import annotations

import contextlib
import faulthandler
import fcntl
import importlib
import json
import os
import select
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from validation.isolation.system import adopt_orphans, die_with_parent


def serve(modules: list[str]) -> None:
    """Import ``modules`` as far as they can be, then fork a child a job until the input closes."""
    lines = os.dup(0)
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    # Children inherit these: what they print must not be taken for a reply.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    adopt_orphans()
    with _ended_by_hangup(lines):
        for name in modules:
            _reply(replies, {"importing": name})
            with contextlib.suppress(Exception, SystemExit):
                importlib.import_module(name)
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, str] = {}
    _reply(replies, {"ready": os.getpid()})
    try:
        _fork_for_jobs(lines, replies, (wake, woken), children)
    finally:
        # Also when the client is gone, and a reply to it fails.
        _end(children)


@contextlib.contextmanager
def _ended_by_hangup(lines: int) -> Iterator[None]:
    """Have the kernel end this process when its input ends: nobody reads it during an import."""
    flags = fcntl.fcntl(lines, fcntl.F_GETFL)
    fcntl.fcntl(lines, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lines, fcntl.F_SETFL, flags | os.O_ASYNC)
    # SIGIO ends a process that does not ask for anything else. Jobs come only once we are ready,
    # so that there is something to read already only where the input has ended before.
    if select.select([lines], [], [], 0)[0]:
        sys.exit(1)
    yield
    fcntl.fcntl(lines, fcntl.F_SETFL, flags)


def _fork_for_jobs(
    lines: int, replies: Any, pipe: tuple[int, int], children: dict[int, str]
) -> None:
    wake = pipe[0]
    server = os.getpid()
    buffer = b""
    while True:
        readable, _, _ = select.select([lines, wake], [], [])
        if wake in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 512)
        _reap(children, replies)
        if lines in readable:
            data = os.read(lines, 65536)
            if not data:
                return
            *jobs, buffer = (buffer + data).split(b"\n")
            for job in jobs:
                folder = job.decode()
                child = os.fork()
                if not child:
                    _become_worker(folder, server, (lines, replies.fileno(), *pipe))
                children[child] = folder
                _reply(replies, {"job": folder, "pid": child})


def _reply(replies: Any, record: dict[str, Any]) -> None:
    replies.write(json.dumps(record) + "\n")
    replies.flush()


def _reap(children: dict[int, str], replies: Any) -> None:
    while children:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not child:
            return
        folder = children.pop(child, None)
        if folder is not None:
            # What it started and left running; an empty group is no error.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            _reply(replies, {"job": folder, "exit": os.waitstatus_to_exitcode(status)})
            if not children:
                # With no child at work, whoever is left was started by one that has ended.
                _end_descendants()


def _end(children: dict[int, str]) -> None:
    for child in children:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
    _end_descendants()


def _end_descendants() -> None:
    # More than once: they may have started others meanwhile.
    for _ in range(10):
        found = psutil.Process().children(recursive=True)
        if not found:
            return
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=1)


def _become_worker(folder: str, server: int, descriptors: tuple[int, ...]) -> None:
    """Leave the server behind, do the job, and exit without running the server's clean-up."""
    code = 1
    try:
        die_with_parent()
        if os.getppid() != server:
            os._exit(code)
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for descriptor in descriptors:
            os.close(descriptor)
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(Path(folder, name), flags, 0o600), descriptor)
        faulthandler.enable(all_threads=False)
        from validation.isolation.worker import work

        work(Path(folder))
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
