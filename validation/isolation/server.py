"""The process that has imported a framework and TVM, and forks a child for each job.

Importing takes 3 to 6 s, a fork 0.1 s. The server starts no thread and calls nothing that
starts one, since a thread pool does not survive a fork. It reads one line a job on standard input,
``folder``, and writes one JSON line when a child starts and one when it has ended.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any


def serve(modules: list[str]) -> None:
    """Import ``modules`` as far as they can be, then fork a child a job until the input closes."""
    lines = os.dup(0)
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    # Children inherit these: what they print must not be taken for a reply.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for name in modules:
        with contextlib.suppress(Exception):
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


def _fork_for_jobs(
    lines: int, replies: Any, pipe: tuple[int, int], children: dict[int, str]
) -> None:
    wake = pipe[0]
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
                    _become_worker(folder, lines, replies, pipe)
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


def _end(children: dict[int, str]) -> None:
    for child in children:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(child, 0)


def _become_worker(folder: str, lines: int, replies: Any, pipes: tuple[int, ...]) -> None:
    """Leave the server behind, do the job, and exit without running the server's clean-up."""
    code = 1
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for descriptor in (lines, replies.fileno(), *pipes):
            os.close(descriptor)
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(Path(folder, name), flags, 0o600), descriptor)
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
