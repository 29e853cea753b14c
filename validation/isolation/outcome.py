"""What a child process leaves behind, and the row that is made of it."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge.frameworks import require
from validation.case import Case
from validation.cell import EnterStage, Keep
from validation.isolation.system import last_lines, signal_name
from validation.isolation.worker import JOB, KEPT, PART, ROW, STAGE
from validation.result import CheckResult, from_json
from validation.vocabulary import Reason, Stage

STDERR = "stderr"
# How the note begins of a row whose child died after its verdict.
DIED = "the diagnosis ended: "
Runner = Callable[[Case, Any, EnterStage, Keep], CheckResult]
Work = tuple[Case, Any, Runner | None]
Verdict = tuple[Reason, str]
# Above the size of a row with a hundred comparisons.
_ROW_BYTES = 64 << 10


@dataclass(frozen=True)
class Ending:
    """How a child ended.

    Attributes:
        exit_code: As ``subprocess`` has it; None where its server died with it.
        limit: Why the pool has ended it; None where it ended by itself.
        killed_for_memory: The kernel has killed a process for lack of memory meanwhile.
        peak_memory: The largest resident size seen, in bytes.
    """

    exit_code: int | None
    limit: Verdict | None = None
    killed_for_memory: bool = False
    peak_memory: int = 0

    @property
    def signal(self) -> str:
        """The signal that ended it, unless it was the pool's."""
        if self.limit is not None or self.exit_code is None or self.exit_code >= 0:
            return ""
        return signal_name(-self.exit_code)

    @property
    def verdict(self) -> Verdict:
        """Say in words how it ended, as something that went wrong."""
        if self.limit is not None:
            return self.limit
        if self.exit_code is None:
            return Reason.ENVIRONMENT_ERROR, "the worker server was killed"
        if self.signal == "SIGKILL" and self.killed_for_memory:
            seen = f"{self.peak_memory >> 20} MiB resident when it was last seen"
            return Reason.OUT_OF_MEMORY, f"the system killed the worker for lack of memory, {seen}"
        if self.signal:
            hint = ", as when the system runs out of memory" if self.signal == "SIGKILL" else ""
            return Reason.CRASH, f"the worker died of {self.signal}{hint}"
        return Reason.CRASH, f"the worker exited with {self.exit_code} and left no result"


def write_job(folder: Path, work: Work) -> None:
    """Write what a child has to do, and make room for its answer.

    A case may fill the disk: where it does, its row is written over what lies here already.

    Raises:
        OSError: The disk is full now.
        Exception: The case cannot be pickled.
    """
    cloudpickle = require("cloudpickle", "sending a case to a worker process")
    with open(folder / JOB, "wb") as stream:
        cloudpickle.dump(work, stream, protocol=pickle.HIGHEST_PROTOCOL)
    (folder / STAGE).write_bytes(Stage.ENVIRONMENT.value.ljust(16).encode())
    for name in (ROW, KEPT):
        (folder / f"{name}{PART}").write_bytes(b" " * _ROW_BYTES)


def row_of(folder: Path, row: CheckResult, ending: Ending) -> CheckResult:
    """Read the row that a child wrote, or say how it ended.

    Args:
        folder: The job's.
        row: What is known of the cell: who it is, its versions, and notes.
        ending: How the child ended.
    """
    row = row.changed(peak_memory=ending.peak_memory)
    if has_row(folder):
        return _written(folder / ROW, row)
    if has_verdict(folder):
        kept = _written(folder / KEPT, row)
        return kept.changed(notes=(*kept.notes, f"{DIED}{ending.verdict[1]}"))
    reason, message = ending.verdict
    if ending.limit is None and _is_full(folder):
        message += "; the disk is full"
        reason = reason if ending.signal else Reason.DISK_FULL
    return row.changed(
        stage=stage_of(folder),
        reason=reason,
        message=message,
        signal=ending.signal,
        stderr=last_lines(folder / STDERR),
    )


def has_row(folder: Path) -> bool:
    """Tell whether a child has come to its end."""
    return (folder / ROW).exists()


def has_verdict(folder: Path) -> bool:
    """Tell whether a child has written a verdict that it still wants to explain."""
    return (folder / KEPT).exists()


def stage_of(folder: Path) -> Stage:
    """Give the stage that a child has entered last."""
    try:
        return Stage((folder / STAGE).read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return Stage.ENVIRONMENT


def _written(path: Path, row: CheckResult) -> CheckResult:
    written = from_json(path.read_text(encoding="utf-8"))
    return written.changed(
        id=row.id,
        framework=row.framework,
        target=row.target,
        notes=(*written.notes, *row.notes),
        versions=written.versions or row.versions,
        environment={**row.environment, **written.environment},
        peak_memory=row.peak_memory,
    )


def _is_full(folder: Path) -> bool:
    probe = folder / "probe"
    try:
        probe.write_bytes(b" " * _ROW_BYTES)
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(probe)
    return False
