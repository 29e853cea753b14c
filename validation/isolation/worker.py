"""What a child process does: read the job, run the cell, write the row."""

from __future__ import annotations

import os
import pickle
import traceback
from pathlib import Path

from validation.cell import run_cell
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

JOB, STAGE, ROW = "job.pickle", "stage", "row.json"


def work(folder: Path) -> None:
    """Run the job of a folder. The row appears whole or not at all."""
    scratch = folder / "scratch"
    scratch.mkdir()
    os.chdir(scratch)

    def enter(stage: Stage) -> None:
        # Opened anew each time: a case may close every descriptor, and open others in their place.
        (folder / STAGE).write_text(stage.value, encoding="utf-8")

    enter(Stage.ENVIRONMENT)
    try:
        with open(folder / JOB, "rb") as stream:
            case, target = pickle.load(stream)  # noqa: S301 - our own parent wrote it
    except Exception as error:
        row = _unreadable(error)
    else:
        row = run_cell(case, target, enter)
    temporary = folder / f"{ROW}.part"
    temporary.write_text(row.to_json(), encoding="utf-8")
    temporary.rename(folder / ROW)


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
