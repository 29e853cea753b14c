"""Keep a process and what it starts from writing outside given folders, where Linux offers that.

Landlock (Linux 5.13 and later) needs no privilege. Where the kernel lacks it, nothing is confined
and ``confine_writes`` says so; the limits of ``validation.untrusted.limits`` hold all the same.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

# The same on every architecture since Linux 5.1.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_WRITE_FILE = 1 << 1
# Removing folders and files; making devices, folders, files, sockets, pipes and links.
_CHANGE_FOLDER = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14


def available() -> bool:
    """Tell whether this kernel can confine."""
    return _version() > 0


def confine_writes(folders: Iterable[Path], devices: Iterable[Path] = ()) -> bool:
    """Let this thread, and all that it starts from now on, write only below ``folders``.

    It cannot be undone. Files that are open already stay writable. Call it in a process of one
    thread: other threads would stay free.

    Args:
        folders: Where files may be made, changed and removed.
        devices: Where existing files may be written to, such as ``/dev``.

    Returns:
        Whether the kernel does so.
    """
    version = _version()
    if version < 1:
        return False
    file_rights = _WRITE_FILE | (_TRUNCATE if version >= 3 else 0)
    rights = file_rights | _CHANGE_FOLDER | (_REFER if version >= 2 else 0)
    ruleset = _call(_CREATE_RULESET, struct.pack("=Q", rights), 8, 0)
    if ruleset < 0:
        return False
    try:
        allowed = [(folder, rights) for folder in folders]
        allowed += [(device, file_rights) for device in devices]
        for folder, granted in allowed:
            if not _allow(ruleset, folder, granted):
                return False
        # Without it the kernel would ask for privileges: a program that is someone else's by its
        # set-user-id bit must not be confined by us.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            return False
        return _call(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, folder: Path, rights: int) -> bool:
    try:
        handle = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        rule = struct.pack("=Qi", rights, handle)
        return _call(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0) == 0
    finally:
        os.close(handle)


def _version() -> int:
    return _call(_CREATE_RULESET, None, 0, _VERSION_FLAG) if sys.platform == "linux" else 0


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    wide = [
        ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments
    ]
    return int(libc.syscall(ctypes.c_long(number), *wide))
