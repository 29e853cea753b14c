"""Read a stranger's file: a real one, whole, and no larger than it can be."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from forge import InvalidInput

# A protobuf or a flatbuffer cannot be larger.
LARGEST_MESSAGE = (1 << 31) - 1
# What is stored may declare to be this many times as large when it is read. Measured: 1.0 to 4
# for models that frameworks write; deflate reaches 1032.
LARGEST_GROWTH = 20
# Anything may become this large: it fits into the memory that a check is given.
ALWAYS_FITS = 1 << 30


def read_file(path: Path, limit: int = LARGEST_MESSAGE) -> bytes:
    """Read a regular file; a device, a pipe or a folder is refused without waiting for it.

    Args:
        path: The file. It may be a symbolic link, since its name is the user's own.
        limit: Bytes that it may have.

    Raises:
        InvalidInput: It cannot be read, is empty, or too large.
    """
    try:
        # Opening a pipe would wait for somebody to write to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(descriptor, "rb") as stream:
            found = os.fstat(descriptor)
            check_regular(found, path)
            if found.st_size > limit:
                raise InvalidInput(
                    f"{str(path)!r} has {found.st_size} bytes; a file of its kind has {limit} at "
                    "most."
                )
            check_growth(found.st_size, found.st_blocks * 512, str(path))
            # A file of /proc or one that grows meanwhile has more than it says.
            content = stream.read(limit + 1)
    except OSError as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be read: {error.strerror or error}",
            hint="check the path, and that you may read the file",
        ) from error
    if not content:
        raise InvalidInput(f"{str(path)!r} is empty.")
    if len(content) > limit:
        raise InvalidInput(f"{str(path)!r} has more than {limit} bytes.")
    return content


def check_file(path: Path) -> os.stat_result:
    """Check a file that a framework will read by its path.

    Raises:
        InvalidInput: It is missing, empty, no regular file, or full of holes.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    check_regular(found, path)
    if not found.st_size:
        raise InvalidInput(f"{str(path)!r} is empty.")
    check_growth(found.st_size, found.st_blocks * 512, str(path))
    return found


def check_regular(found: os.stat_result, path: Path) -> None:
    """Refuse what is no regular file.

    Raises:
        InvalidInput: A folder, a device, a pipe or a socket.
    """
    if stat.S_ISREG(found.st_mode):
        return
    kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
    raise InvalidInput(f"{str(path)!r} is {kind}, no file.", hint="give a regular file")


def check_growth(declared: int, stored: int, where: str) -> None:
    """Refuse what would become far larger in memory than it is on disk.

    Args:
        declared: Bytes that it says to have.
        stored: Bytes that it takes on disk.
        where: The file, and what in it.

    Raises:
        InvalidInput: The first is above ``ALWAYS_FITS``, and ``LARGEST_GROWTH`` times the second.
    """
    if declared > max(ALWAYS_FITS, LARGEST_GROWTH * stored):
        raise InvalidInput(
            f"{where} declares {declared} bytes and stores {stored}: it would fill the memory.",
            hint="if the file is honest, write it again without compression",
        )


def inner_path(folder: Path, name: str, where: str) -> Path:
    """Find a file that a model names, which must be a regular file inside the model's folder.

    Args:
        folder: The model's folder.
        name: What the model says.
        where: What in the model says so, for the error.

    Raises:
        InvalidInput: An absolute path, one with ``..``, a symbolic link on the way, or no file.
    """
    parts = name.replace("\\", "/").split("/")
    if not name or "\0" in name or os.path.isabs(name) or ".." in parts or ":" in parts[0]:
        raise InvalidInput(
            f"{where} names the file {name!r}, which lies outside the model's folder {folder}.",
            hint="a model may read files beside it only; put them there and name them so",
        )
    path = folder
    for part in parts:
        path = path / part
        if path.is_symlink():
            raise InvalidInput(
                f"{where} names the file {name!r}, and {path} is a symbolic link.",
                hint="copy the model with what its links point to, for example with cp -rL",
            )
    return path


def files_under(folder: Path, limit: int = 10_000) -> Iterator[tuple[Path, os.stat_result]]:
    """List the regular files of a folder, as far down as it goes.

    Raises:
        InvalidInput: It holds a symbolic link that leads outside, a device, or too many files.
    """
    root = folder.resolve()
    count = 0
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(place, name)
            count += 1
            if count > limit:
                raise InvalidInput(f"{folder} holds more than {limit} files.")
            if path.is_symlink():
                if not path.resolve().is_relative_to(root):
                    raise InvalidInput(
                        f"{path} is a symbolic link that leads out of the model's folder.",
                        hint="copy the model with what its links point to: cp -rL",
                    )
                continue
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode):
                check_regular(found, path)
                yield path, found
