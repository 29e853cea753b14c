"""What a child process does: read the job, run the cell, write the row."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from validation.cell import run_cell
from validation.vocabulary import Stage

JOB, STAGE, ROW = "job.pickle", "stage", "row.json"


def work(folder: Path) -> None:
    """Run the job of a folder. The row appears whole or not at all."""
    scratch = folder / "scratch"
    scratch.mkdir()
    os.chdir(scratch)
    with open(folder / STAGE, "wb", buffering=0) as stage_file:

        def enter(stage: Stage) -> None:
            stage_file.seek(0)
            stage_file.write(f"{stage.value:<20}".encode())

        enter(Stage.ENVIRONMENT)
        with open(folder / JOB, "rb") as stream:
            case, target = pickle.load(stream)
        row = run_cell(case, target, enter)
    temporary = folder / f"{ROW}.part"
    temporary.write_text(row.to_json(), encoding="utf-8")
    temporary.rename(folder / ROW)
