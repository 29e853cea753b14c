"""Open a bundle that anyone may have made.

Nothing is executed here and no framework is imported. What the manifest lists must be there, whole;
links, devices and the like are refused, so that no part of a bundle lies outside its folder.
"""

from __future__ import annotations

import json
import os
import pickle
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge import InvalidInput
from forge.frameworks import require
from validation.bundles import layout
from validation.bundles.arrays import Record, read_arrays
from validation.bundles.manifest import Manifest, read_manifest
from validation.bundles.parts import path_record
from validation.case import Case
from validation.references.protocol import Arrays
from validation.result import CheckResult, from_json

_MOST_FILES = 10_000
_LARGEST_TEXT = 64 << 20
_DAMAGED = "copy the bundle once more, or run the check again"


@dataclass(frozen=True)
class Bundle:
    """A bundle whose files are there and whole.

    Attributes:
        folder: Where it lies; absolute.
        manifest: What it says of itself.
    """

    folder: Path
    manifest: Manifest

    def has(self, part: str) -> bool:
        """Tell whether a file or a folder of that name belongs to it."""
        return any(n == part or n.startswith(f"{part}/") for n in self.manifest.files)

    def path(self, part: str) -> Path:
        """Give the path of a part.

        Raises:
            InvalidInput: The bundle has it not; the error says why.
        """
        if not self.has(part):
            reason = self.manifest.left_out.get(part, "the cell ended before it was made")
            raise InvalidInput(f"{str(self.folder)!r} holds no {part}: {reason}.")
        return self.folder / part

    def samples(self, kind: str) -> list[Arrays]:
        """Read the arrays of all samples: ``inputs``, ``reference`` or ``ours``.

        Raises:
            InvalidInput: A file does not hold what the manifest says.
        """
        records: tuple[list[Record], ...] = getattr(self.manifest, kind)
        return [
            self._arrays(layout.samples_file(kind, number), each)
            for number, each in enumerate(records)
        ]

    def row(self) -> CheckResult:
        """Read the whole result of the cell.

        Raises:
            InvalidInput: It is no result.
        """
        path = self.path(layout.ROW)
        try:
            return from_json(_text(path))
        except (ValueError, RecursionError) as error:
            raise _damaged(path, error) from error

    def environment(self) -> dict[str, Any]:
        """Read what ``machine.describe`` said.

        Raises:
            InvalidInput: It is no such description.
        """
        path = self.path(layout.ENVIRONMENT)
        try:
            record = json.loads(_text(path))
            for name in ("versions", "variables"):
                if not all(isinstance(value, str) for value in dict(record[name]).values()):
                    raise ValueError(f"{name} holds something other than texts")
            return {**record, "processor": str(record["processor"])}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _damaged(path, error) from error

    def options(self, trust: bool) -> dict[str, Any]:
        """Give the loader's options.

        Raises:
            InvalidInput: Some are pickled and ``trust`` is not given, or cannot be read.
        """
        options = dict(self.manifest.options)
        if self.manifest.pickled_options:
            names = ", ".join(self.manifest.pickled_options)
            found = self._unpickled(layout.OPTIONS, f"the loader's options {names}", trust)
            if not isinstance(found, dict):
                raise InvalidInput(f"{layout.OPTIONS} of {str(self.folder)!r} holds no options.")
            options.update(found)
        return options

    def case(self, trust: bool) -> Case:
        """Unpickle the case of a model that could be put into the bundle in no other way.

        Raises:
            InvalidInput: ``trust`` is not given, or it cannot be read.
        """
        case = self._unpickled(layout.CASE, "the function that builds the model", trust)
        if not isinstance(case, Case):
            raise InvalidInput(f"{layout.CASE} of {str(self.folder)!r} holds no case.")
        return case

    def _arrays(self, name: str, records: list[Record]) -> Arrays:
        path = self.path(name)
        try:
            return read_arrays(path, records)
        except (ValueError, OSError) as error:
            raise _damaged(path, error) from error

    def _unpickled(self, name: str, what: str, trust: bool) -> Any:
        path = self.path(name)
        if not trust:
            raise untrusted(f"{what} in {str(self.folder)!r} are pickled Python", self)
        # Importing it makes the classes known that pickles of it refer to.
        require("cloudpickle", "opening a bundle")
        try:
            return pickle.loads(path.read_bytes())  # noqa: S301 - trusted by the user
        except Exception as error:
            raise InvalidInput(
                f"{str(path)!r} cannot be unpickled here: {type(error).__name__}: {error}",
                hint="it may need modules, or a version of Python, that are not installed here",
            ) from error


def read_bundle(folder: Path) -> Bundle:
    """Open a bundle.

    Raises:
        InvalidInput: It is none, is of a newer schema, is not complete, or is not to be trusted:
            a file is missing, changed or not listed, or lies outside.
    """
    if not folder.is_dir():
        raise InvalidInput(f"there is no folder {str(folder)!r}.")
    folder = folder.resolve()
    manifest = read_manifest(folder)
    if not manifest.complete:
        raise InvalidInput(
            f"{str(folder)!r} is not complete: the process that wrote it was ended.",
            hint="run the check again",
        )
    found = _files(folder)
    # What is not listed is never read, but a loader may look for any file beside its own.
    for name in found:
        if name.startswith(f"{layout.MODEL}/") and name not in manifest.files:
            raise InvalidInput(f"{str(folder)!r} does not list its file {name!r}.")
    for name, record in manifest.files.items():
        if name not in found:
            raise InvalidInput(f"{str(folder)!r} lacks its file {name!r}.", hint=_DAMAGED)
        try:
            if found[name] != record.size or path_record(folder / name) != record:
                raise InvalidInput(f"{str(folder / name)!r} is not what was written.", _DAMAGED)
        except OSError as error:
            raise InvalidInput(f"{str(folder / name)!r} cannot be read: {error}") from error
    return Bundle(folder, manifest)


def untrusted(what: str, bundle: Bundle) -> InvalidInput:
    """Make the error of something that runs code when it is opened."""
    hint = "--trust opens it, if you know who made it"
    if bundle.has(layout.FOLDED):
        hint += "; --without-model compares the stored IR with the stored reference"
    return InvalidInput(f"{what}, which runs code when it is opened.", hint)


def _files(folder: Path) -> dict[str, int]:
    """List all files below a folder with their sizes.

    Raises:
        InvalidInput: There is anything but files and folders, or there are too many.
    """
    found: dict[str, int] = {}
    for parent, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(parent, name)
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                found[path.relative_to(folder).as_posix()] = status.st_size
            elif not stat.S_ISDIR(status.st_mode):
                raise InvalidInput(f"{str(path)!r} is a link or a device; a bundle has none.")
        if len(found) > _MOST_FILES:
            raise InvalidInput(f"{str(folder)!r} holds more than {_MOST_FILES} files.")
    return found


def _text(path: Path) -> str:
    if path.stat().st_size > _LARGEST_TEXT:
        raise ValueError("it is too large")
    return path.read_text(encoding="utf-8")


def _damaged(path: Path, error: Exception) -> InvalidInput:
    return InvalidInput(f"{str(path)!r} is damaged: {type(error).__name__}: {error}", _DAMAGED)
