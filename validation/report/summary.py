"""Count what became of all cells, always over the whole."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from validation.result import CheckResult
from validation.vocabulary import REFUSED, WRONG, ExitCode, Status


@dataclass(frozen=True)
class Summary:
    """How many cells ended how; the counts add up to ``total``.

    Attributes:
        total: All cells that were asked for.
        passed: PASS.
        refused: FAIL, by an error that names what cannot be loaded.
        wrong: FAIL, by values, shapes, dtypes, names or structure.
        failed: FAIL, by anything else: a crash, a time-out, a compile error.
        expected: XFAIL.
        unexpected_passes: XPASS.
        skipped: SKIP: not covered.
        unfinished: SKIP: planned, and the run ended before it was done.
    """

    total: int
    passed: int = 0
    refused: int = 0
    wrong: int = 0
    failed: int = 0
    expected: int = 0
    unexpected_passes: int = 0
    skipped: int = 0
    unfinished: int = 0

    @property
    def exit_code(self) -> ExitCode:
        if self.refused or self.wrong or self.failed or self.unexpected_passes:
            return ExitCode.FAILED
        if self.unfinished:
            return ExitCode.NOTHING_CHECKED
        return ExitCode.PASSED if self.passed + self.expected else ExitCode.NOTHING_CHECKED

    @property
    def verdict(self) -> str:
        """Say in one line how the run ended and what it did not cover."""
        if self.unfinished and self.exit_code is not ExitCode.FAILED:
            return f"INTERRUPTED, {self.unfinished} of {self.total} cells not finished"
        word = {
            ExitCode.PASSED: "QUALIFIED",
            ExitCode.FAILED: "NOT QUALIFIED",
            ExitCode.NOTHING_CHECKED: "NOTHING CHECKED",
        }[self.exit_code]
        if self.exit_code is ExitCode.PASSED and self.skipped:
            word += f" IN PART, {self.skipped} of {self.total} cells not covered"
        return word

    def line(self) -> str:
        """List every count over the whole; ``unfinished`` only after an interrupted run."""
        counts = [
            f"{name.replace('_', ' ')} {count}"
            for name, count in asdict(self).items()
            if name != "total" and (count or name != "unfinished")
        ]
        return f"of {self.total} cells: {', '.join(counts)}"


def summarise(rows: Iterable[CheckResult]) -> Summary:
    """Count rows by how they ended."""
    counts = dict.fromkeys(Summary.__dataclass_fields__, 0)
    for row in rows:
        counts["total"] += 1
        counts[_category(row)] += 1
    return Summary(**counts)


def by_framework(rows: Sequence[CheckResult]) -> dict[str, Summary]:
    """Count rows a framework."""
    names = dict.fromkeys(row.framework for row in rows)
    return {name: summarise(row for row in rows if row.framework == name) for name in names}


def milliseconds(row: CheckResult, side: str) -> float | None:
    """Give the median latency of ``native`` or ``forge``; None where it was not measured."""
    samples = row.latency.get(side)
    return statistics.median(samples) * 1e3 if samples else None


def latency_ratio(row: CheckResult) -> float | None:
    """Give Forge's median latency over the native one; above 1 Forge is slower."""
    native, forge = milliseconds(row, "native"), milliseconds(row, "forge")
    return forge / native if native and forge else None


def _category(row: CheckResult) -> str:
    if row.is_unfinished:
        return "unfinished"
    if row.status is Status.FAIL:
        return "wrong" if row.reason in WRONG else "refused" if row.reason in REFUSED else "failed"
    return {
        Status.PASS: "passed",
        Status.XFAIL: "expected",
        Status.XPASS: "unexpected_passes",
        Status.SKIP: "skipped",
    }[row.status]
