"""Temporary folders that do not outlive their owner for long, even one that was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

# Only a folder that holds a file of this name is ever removed for somebody else.
_OWNER = ".forge-owner"
_PREFIX = "forge-"


class ScratchFolder:
    """A temporary folder, locked by this process as long as it lives.

    Making one removes the folders of processes that are dead: their locks are gone with them.
    Use it as a context manager, or call ``remove``.

    Args:
        prefix: Begins its name; it must begin with ``forge-``.
    """

    def __init__(self, prefix: str = "forge-check-") -> None:
        parent = Path(tempfile.gettempdir())
        remove_abandoned(parent)
        self.path = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        try:
            self._lock = _own(self.path)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def __enter__(self) -> Path:
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder with all that is in it; it may be called twice."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def remove_abandoned(parent: Path) -> None:
    """Remove what killed processes of this user have left in a folder for temporary files."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(parent)):
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(Path(entry.path))


def _own(folder: Path) -> int:
    # Locked before it has its name: who looks meanwhile must not take it for an abandoned one.
    nameless = folder / f"{_OWNER}.part"
    lock = os.open(nameless, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        # Where files cannot be locked, the folder merely looks like one without an owner.
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(nameless, folder / _OWNER)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _remove_if_abandoned(folder: Path) -> None:
    if folder.lstat().st_uid != os.geteuid():
        return
    lock = os.open(folder / _OWNER, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails where the owner lives
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
