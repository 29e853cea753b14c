"""What a child process does: read the job, run the cell, write the row."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import traceback
from pathlib import Path

from validation.cell import run_cell
from validation.result import CheckResult
from validation.untrusted.limits import enter_scratch
from validation.vocabulary import Reason, Stage, Status

JOB, STAGE, ROW, KEPT = "job.pickle", "stage", "row.json", "kept.json"
PART = ".part"


def work(folder: Path) -> None:
    """Run the job of a folder.

    The row appears whole or not at all. A row with the verdict alone may appear before it, under
    another name, while this process still looks for an explanation that may be its end.
    """
    scratch = folder / "scratch"
    enter_scratch(scratch, writable=[folder])

    def enter(stage: Stage) -> None:
        # The verdict does not depend on it. It is written over what the parent has laid out, since
        # on a full disk there is no room for more.
        with contextlib.suppress(OSError):
            _overwrite(folder / STAGE, stage.value.ljust(16).encode())

    def keep(row: CheckResult) -> None:
        with contextlib.suppress(OSError):
            _write_row(folder / KEPT, row)

    enter(Stage.ENVIRONMENT)
    try:
        with open(folder / JOB, "rb") as stream:
            case, target, run = pickle.load(stream)  # noqa: S301 - our own parent wrote it
    except Exception as error:
        row = _unreadable(error)
    else:
        row = (run or run_cell)(case, target, enter, keep)
    try:
        _write_row(folder / ROW, row)
    except OSError:
        # What the case has left behind may be what fills the disk.
        shutil.rmtree(scratch, ignore_errors=True)
        _write_row(folder / ROW, row)


def _write_row(path: Path, row: CheckResult) -> None:
    part = path.with_name(path.name + PART)
    _overwrite(part, row.to_json().encode())
    part.rename(path)


def _overwrite(path: Path, data: bytes) -> None:
    """Give a file another content, where it lies."""
    # Opened anew each time: a case may close every descriptor, and open others in their place.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        written = 0
        while written < len(data):
            written += os.write(descriptor, data[written:])
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def _unreadable(error: Exception) -> CheckResult:
    """Say that the case could not be unpickled; the parent knows which one it is."""
    message = f"the case cannot be read in the worker: {type(error).__name__}: {error}"
    stderr = "\n".join(traceback.format_exc().rstrip().splitlines()[-15:])
    return CheckResult(
        "",
        "",
        "",
        Status.FAIL,
        Stage.ENVIRONMENT,
        Reason.ENVIRONMENT_ERROR,
        message,
        stderr=stderr,
    )
