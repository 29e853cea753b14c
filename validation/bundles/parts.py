"""Write the parts of a bundle one by one, within a limit; what cannot be written is left out."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from forge import InvalidInput
from validation.bundles.manifest import FileRecord
from validation.reasons import text_of

_Result = TypeVar("_Result")
_CHUNK = 1 << 20
_LONGEST = 1000  # characters of a reason


class Parts:
    """The parts of one bundle, in its folder.

    A part is a file or a folder. It is added whole or not at all: where writing it fails, or it
    does not fit into what is left of the limit, nothing of it stays and ``left_out`` says why.

    Args:
        folder: Where they are written.
        limit: Bytes that all of them may take.

    Attributes:
        files: Size and hash of every file, by its path in the folder.
        left_out: Why a part is not there, by its name.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self.files: dict[str, FileRecord] = {}
        self.left_out: dict[str, str] = {}

    @property
    def left(self) -> int:
        """Bytes that may still be written."""
        return self._limit - sum(file.size for file in self.files.values())

    def move(self, folder: Path) -> None:
        """Go on in another folder, to which the parts were moved."""
        self._folder = folder

    def add(
        self, name: str, write: Callable[[Path], _Result], least: int = 0, record: bool = True
    ) -> _Result | None:
        """Have a part written.

        Args:
            name: Its path in the bundle.
            write: Writes it to the path that it is given; what it returns is returned.
            least: Bytes that it is known to take at least, so that it need not be tried.
            record: List it among ``files``; a reader may then not change it.

        Returns:
            None where it was left out.
        """
        path = self._folder / name
        try:
            if least > self.left:
                raise _too_large(least, self._limit)
            path.parent.mkdir(parents=True, exist_ok=True)
            result = write(path)
            found = {f"{name}{rest}": _file_record(file) for rest, file in _files_of(path)}
            size = sum(file.size for file in found.values())
            if size > self.left:
                raise _too_large(size, self._limit)
        except Exception as error:
            self.left_out[name] = text_of(error)[:_LONGEST]
            remove(path)
            return None
        except BaseException:
            remove(path)
            raise
        if record:
            self.files.update(found)
        return result


def path_record(path: Path) -> FileRecord:
    """Take size and SHA-256 of a file; of a folder, the sum and that of all its files and names.

    Raises:
        OSError: It cannot be read.
    """
    if not path.is_dir():
        return _file_record(path)
    found = {name: _file_record(file) for name, file in sorted(_files_of(path))}
    text = json.dumps([[name, file.sha256] for name, file in found.items()])
    size = sum(file.size for file in found.values())
    return FileRecord(size, hashlib.sha256(text.encode()).hexdigest())


def _file_record(path: Path) -> FileRecord:
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return FileRecord(size, digest.hexdigest())


def remove(path: Path) -> None:
    """Remove a file or a folder, if there is one; a link is removed, not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _files_of(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield every file of a part, with its path below the part's own."""
    if not path.is_dir():
        yield "", path
        return
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            file = Path(folder, name)
            yield f"/{file.relative_to(path).as_posix()}", file


def _too_large(size: int, limit: int) -> InvalidInput:
    return InvalidInput(
        f"its {size / (1 << 20):.1f} MiB are beyond what is left of the limit of "
        f"{limit / (1 << 20):.0f} MiB"
    )
