"""Wait for a child process, and end it when it takes too long or too much."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from validation.case import Case
from validation.isolation.client import Job
from validation.isolation.family import ProcessFamily
from validation.isolation.outcome import Ending, Verdict, has_verdict
from validation.isolation.system import kills_for_memory
from validation.vocabulary import Reason

_POLL_SECONDS = 0.05
# Listing processes takes longer the more there are; watching may take this share of the time.
_POLL_SHARE = 0.05


def watch(
    job: Job, end: Callable[[Job], None], folder: Path, case: Case, stopping: threading.Event
) -> Ending:
    """Wait for a child to end, or end it with all that it started.

    It has ``case.time_limit`` seconds for its verdict and, once that lies there, as many again to
    explain it.

    Args:
        job: The child.
        end: Ends it.
        folder: The job's folder.
        case: Says what it may take.
        stopping: Set when the whole run is to end.
    """
    family = ProcessFamily(job.pid)
    kills_before = kills_for_memory()
    began, judged = time.monotonic(), False
    peak, pause = 0, 0.0
    limit: Verdict | None = None
    while not job.done.wait(pause):
        looked = time.monotonic()
        peak = max(peak, family.resident())
        pause = max(_POLL_SECONDS, (time.monotonic() - looked) / _POLL_SHARE)
        if not judged and has_verdict(folder):
            began, judged = looked, True
        if stopping.is_set():
            limit = (Reason.ENVIRONMENT_ERROR, "the run was interrupted")
        elif looked - began > case.time_limit:
            limit = (Reason.TIMEOUT, f"no result after {case.time_limit:g} s")
        elif peak > case.memory_limit:
            text = f"{peak >> 20} MiB resident, the limit is {case.memory_limit >> 20} MiB"
            limit = (Reason.OUT_OF_MEMORY, text)
        if limit:
            end(job)
            break
    family.kill()
    return Ending(job.exit_code, limit, kills_for_memory() > kills_before, peak)
