"""What the operating system knows and does about processes; Linux first, elsewhere less."""

from __future__ import annotations

import contextlib
import ctypes
import re
import signal
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LINES, _LINES_BEFORE, _LONGEST_LINE = 15, 10, 300
# A stack of a hundred calls takes some 10 KiB.
_READ = 64 << 10
_STACK = re.compile(r"Fatal Python error: |!!!!!!! Segfault encountered !!!!!!!")


def signal_name(number: int) -> str:
    """Name a signal, such as SIGSEGV; real-time signals by their number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_lines(path: Path) -> str:
    """Give the last lines of a file; empty where there is none.

    Of a crash that tells its stack, these are the lines before it and the innermost calls, which
    Python and TVM both write first.
    """
    try:
        with open(path, "rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - _READ))
            lines = stream.read().decode(errors="replace").rstrip().splitlines()
    except OSError:
        return ""
    stack = next((n for n, line in enumerate(lines) if _STACK.match(line)), None)
    if stack is None:
        found = lines[-_LINES:]
    else:
        found = lines[max(0, stack - _LINES_BEFORE) : stack + _LINES]
    return "\n".join(line[-_LONGEST_LINE:] for line in found)


def die_with_parent() -> None:
    """Have this process killed when the thread that forked it ends, however it ends."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kills_for_memory() -> int:
    """Count the processes that the kernel has killed for lack of memory since it started.

    Limits of control groups count as well. Without Linux it is always 0.
    """
    with contextlib.suppress(OSError, ValueError), open("/proc/vmstat", encoding="ascii") as lines:
        for line in lines:
            name, _, count = line.partition(" ")
            if name == "oom_kill":
                return int(count)
    return 0


def _prctl(option: int, value: int) -> None:
    # Whatever else there is keeps its own order: what this guards against is rare.
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
