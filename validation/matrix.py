"""Run many cells and keep each row as soon as it is there."""

from __future__ import annotations

import concurrent.futures
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from validation.bundles.cleaning import discard
from validation.case import Case
from validation.expectations import (
    Expectation,
    apply_expectations,
    as_measured,
    update_command,
)
from validation.isolation import WorkerPool
from validation.isolation.outcome import Runner
from validation.result import CheckResult
from validation.resuming import tell_again, why_again
from validation.row_file import RowFile
from validation.vocabulary import Reason, Stage, Status
from validation.zoos import ZooEntry

Progress = Callable[[CheckResult], None]

# What must be importable for a framework's loader and its reference.
_MODULES = {
    "onnx": ("onnx", "onnxruntime"),
    "torch": ("torch",),
    "tensorflow": ("tensorflow", "tflite"),
    "keras": ("keras", "tensorflow", "tflite"),
    "tflite": ("tflite",),
}


def case_of_entry(entry: ZooEntry, **fields: Any) -> Case:
    """Make a case of a zoo entry; ``fields`` are further fields of ``Case``."""
    if entry.time_limit is not None:
        fields["time_limit"] = entry.time_limit
    return Case(
        id=entry.id,
        framework=entry.framework,
        build=entry.build,
        rtol=entry.rtol,
        atol=entry.atol,
        judges=getattr(entry, "judges", {}),
        **fields,
    )


def run_matrix(
    entries: Iterable[ZooEntry],
    *,
    target: Any = "llvm",
    jobs: int = 1,
    threads: int = 1,
    latency: bool = True,
    memory_limit: int = 8 << 30,
    expectations: Sequence[Expectation] = (),
    rows_file: RowFile | None = None,
    progress: Progress = lambda row: None,
    notify: Callable[[str], None] = lambda text: None,
    run: Runner | None = None,
) -> list[CheckResult]:
    """Check entries, each in a child process.

    Args:
        entries: What to check.
        target: A TVM target.
        jobs: How many cells run at the same time; with more than one, latencies disturb each other.
        threads: Threads for each runtime.
        latency: Measure latencies.
        memory_limit: Resident bytes above which a cell is ended.
        expectations: Known failures.
        rows_file: A row for each planned cell, SKIP, is written to it at the start, and each
            finished row at once. Cells that it holds already are not run again where
            ``why_again`` has nothing to say.
        progress: Called with each finished row.
        notify: Called with what a reader should know before the run begins.
        run: What runs a cell in its child, as ``WorkerPool.submit`` takes it.

    Returns:
        One row an entry, in the order of ``entries``. Entries whose framework is not installed
        are SKIP.

    Raises:
        RowFileError: A row cannot be written; the run ends.
    """
    fields: dict[str, Any] = {"threads": threads, "latency": latency, "memory_limit": memory_limit}
    cases = [case_of_entry(entry, **fields) for entry in entries]
    rows: dict[str, CheckResult] = {}
    update = update_command(rows_file.path if rows_file else None)

    def finish(row: CheckResult) -> None:
        row = apply_expectations(row, expectations, update)
        if row.status is not Status.FAIL:
            row = discard(row)
        if rows_file is not None:
            rows_file.append(row)
        rows[row.id] = row
        progress(row)

    done = {} if rows_file is None else rows_file.rows
    planned = []
    again = []
    for case in cases:
        earlier = done.get((case.id, str(target)))
        why = why_again(earlier, case) if earlier is not None else "it is new"
        if earlier is not None and not why:
            rows[case.id] = apply_expectations(as_measured(earlier), expectations, update)
            progress(rows[case.id])
            continue
        planned.append(case)
        if earlier is not None and earlier.status is not Status.SKIP:
            again.append((case.id, why))
    if again:
        notify(tell_again(again))
    if rows_file is not None and planned:
        rows_file.append(*(_planned(case, target) for case in planned))
    with WorkerPool(jobs, threads) as pool:
        pending = []
        for case in planned:
            missing = missing_modules(case.framework)
            if missing:
                finish(_skipped(case, target, missing))
            else:
                pending.append(pool.submit(case, target, run))
        for future in concurrent.futures.as_completed(pending):
            finish(future.result())
    return [rows[case.id] for case in cases]


def missing_modules(framework: str) -> tuple[str, ...]:
    """Name the modules that checking a framework needs and that are not installed."""
    needed = _MODULES.get(framework, ())
    return tuple(name for name in needed if importlib.util.find_spec(name) is None)


def _planned(case: Case, target: Any) -> CheckResult:
    """Make the row that stands for a cell until it is finished; of two rows the later counts."""
    return CheckResult(
        case.id,
        case.framework,
        str(target),
        Status.SKIP,
        Stage.ENVIRONMENT,
        Reason.ENVIRONMENT_ERROR,
        "the run ended before this cell was finished",
    )


def _skipped(case: Case, target: Any, missing: Sequence[str]) -> CheckResult:
    return CheckResult(
        case.id,
        case.framework,
        str(target),
        Status.SKIP,
        Stage.ENVIRONMENT,
        Reason.MISSING_FRAMEWORK,
        f"not installed here: {', '.join(missing)} "
        f"(pip install 'forge-validation[{case.framework}]')",
    )
