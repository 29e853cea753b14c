"""What a process may do that runs a stranger's model: where it works and how much it may write.

What this does not do: there is no filter on system calls, no limit on the number of files, and
reading is free. A model that takes over the process can read what the user can read. The scratch
folder is removed with the job, and on Linux 5.13 and later ``landlock`` keeps writing inside it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from validation.untrusted.landlock import confine_writes

# Above what a check of a model within its memory limit writes: a library with its weights.
LARGEST_FILE = 8 << 30


# Where a confined process may write; None in a process that never entered a scratch folder, such as
# the user's own, which is never confined.
_writable: list[Path] | None = None


def enter_scratch(scratch: Path, writable: Iterable[Path] = ()) -> None:
    """Make a folder, work in it, send temporary files there, and limit what can be written.

    No file grows above ``LARGEST_FILE`` or half of what is free on the disk; a write beyond that
    fails with EFBIG. No core is dumped. New files are the user's alone.

    Args:
        scratch: The folder, which may exist.
        writable: Further folders that may be written to after ``confine``.
    """
    global _writable
    os.umask(0o077)
    scratch.mkdir(parents=True, exist_ok=True)
    os.chdir(scratch)
    os.environ["TMPDIR"] = str(scratch)
    # Python asks for the folder once, and a server may have asked already.
    tempfile.tempdir = None
    largest = min(LARGEST_FILE, shutil.disk_usage(scratch).free // 2)
    _limit(resource.RLIMIT_FSIZE, largest)
    _limit(resource.RLIMIT_CORE, 0)
    _writable = [scratch, *writable]


def allow(folder: Path) -> None:
    """Let this process write to one more folder after ``confine``; it is made then."""
    if _writable is not None:
        _writable.append(folder)


def confine() -> bool:
    """Before a stranger's file is opened: hide the home folder, and write nowhere else any more.

    In a process that has not called ``enter_scratch`` it does nothing.

    Returns:
        Whether the kernel keeps writing inside; if not, only the paths are changed.
    """
    if _writable is None:
        return False
    os.environ["HOME"] = str(_writable[0])
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        os.environ.pop(name, None)
    with contextlib.suppress(OSError):
        for folder in _writable:
            folder.mkdir(parents=True, exist_ok=True)
    return confine_writes(_writable, devices=[Path("/dev"), Path("/proc")])


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    # A sandbox may forbid it, and then has limits of its own.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, value))
