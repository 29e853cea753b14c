"""Remove old bundles, and nothing that is no bundle."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from forge import InvalidInput
from validation.bundles.layout import MANIFEST
from validation.bundles.manifest import is_complete
from validation.bundles.parts import remove
from validation.result import CheckResult

MAX_AGE_DAYS = 14.0
MAX_TOTAL = 4 << 30
# A folder that is still written to is younger: a cell's time is limited.
_ABANDONED_SECONDS = 6 * 3600.0


@dataclass(frozen=True)
class _Bundle:
    path: Path
    age: float
    size: int
    complete: bool


def clean(
    root: Path, max_age_days: float = MAX_AGE_DAYS, max_total: int = MAX_TOTAL
) -> tuple[Path, ...]:
    """Remove bundles that are too old, and the oldest ones of those that are too many.

    The newest stays in any case. What no process finished writing goes after some hours. Anything
    else in the folder, and whatever a link leads to, stays as it is.

    Args:
        root: The folder in which bundles lie.
        max_age_days: How old a bundle may become.
        max_total: Bytes that all of them may take.

    Returns:
        What was removed.
    """
    bundles = sorted(_bundles(root), key=lambda each: each.age)
    removed: list[Path] = []
    total, newest = 0, True
    for bundle in bundles:
        if not bundle.complete:
            out = bundle.age > _ABANDONED_SECONDS
        else:
            total += bundle.size
            out = not newest and (bundle.age > max_age_days * 86400 or total > max_total)
            newest = False
        if out:
            try:
                remove_bundle(bundle.path)
            except (OSError, InvalidInput):  # another process removes it, or may not be ours
                continue
            removed.append(bundle.path)
    return tuple(removed)


def remove_bundle(path: Path) -> None:
    """Remove one bundle.

    Raises:
        InvalidInput: It is no bundle; nothing is removed then.
        OSError: A part of it cannot be removed.
    """
    is_complete_bundle(path)
    # By its manifest a folder that is removed in part only is still known to be a bundle.
    for entry in list(path.iterdir()):
        if entry.name != MANIFEST:
            remove(entry)
    remove(path / MANIFEST)
    path.rmdir()


def discard(row: CheckResult) -> CheckResult:
    """Remove the bundle of a row that turned out to need none, such as an expected failure."""
    if row.bundle:
        with contextlib.suppress(InvalidInput, OSError):  # it may be gone
            remove_bundle(Path(row.bundle))
    return row.changed(bundle="")


def is_complete_bundle(path: Path) -> bool:
    """Look at a folder that is to be replaced or removed.

    Raises:
        InvalidInput: It is a link, or no bundle.
    """
    if path.is_symlink() or not path.is_dir():
        raise InvalidInput(f"{str(path)!r} is no folder, so no bundle.")
    return is_complete(path)


def _bundles(root: Path) -> list[_Bundle]:
    found = []
    now = time.time()
    try:
        paths = list(root.iterdir())
    except OSError:
        return []
    for path in paths:
        try:
            complete = is_complete_bundle(path)
            age = now - (path / MANIFEST).stat().st_mtime
            found.append(_Bundle(path, age, _size(path), complete))
        except (InvalidInput, OSError):
            continue
    return found


def _size(path: Path) -> int:
    total = 0
    for folder, _, names in os.walk(path):
        total += sum(Path(folder, name).lstat().st_size for name in names)
    return total
