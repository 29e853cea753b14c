"""Write files that are either whole or not there: nobody ever reads half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from os import PathLike
from typing import BinaryIO


@contextlib.contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Give a stream whose content becomes the file at ``path`` when the block ends.

    Until then an existing file stays as it is, and where the block raises, it stays so for good
    and nothing new is left behind. The file gets the mode of the one that it replaces, or that of
    a file written plainly. A symbolic link is followed.

    Args:
        path: The file; its folder must exist.

    Raises:
        OSError: It cannot be written; its ``filename`` is ``path``.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    prefix, temporary = f".{name[:100]}.", ""
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=prefix)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fchmod(stream.fileno(), _mode_for(target))
            # Else the name may reach the disk before the content does.
            os.fsync(stream.fileno())
        os.replace(temporary, target)
        temporary = ""
    except OSError as error:
        # What the block raised for another file names that one.
        beginning = os.path.join(folder, prefix)
        ours = error.filename is None or str(error.filename).startswith(beginning)
        if ours and error.errno is not None:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
    sync_folder(folder)


def write_whole(path: str | PathLike[str], data: bytes | str) -> None:
    """Write a file as ``whole_file`` does; text in UTF-8.

    Raises:
        OSError: It cannot be written; its ``filename`` is ``path``.
    """
    with whole_file(path) as stream:
        stream.write(data.encode() if isinstance(data, str) else data)


def sync_folder(folder: str | PathLike[str]) -> None:
    """Have the names in a folder reach the disk, where the file system can be asked to."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _mode_for(target: str) -> int:
    try:
        return os.stat(target).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
