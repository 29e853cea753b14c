"""Run a cell in a worker and leave a bundle if it fails; also of a cell that killed its worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from validation.bundles.layout import DEFAULT_LIMIT
from validation.bundles.writing import write_bundle
from validation.case import Case
from validation.cell import EnterStage, Keep, run_cell
from validation.references import framework_named
from validation.result import CheckResult
from validation.trial import Trial
from validation.untrusted.limits import allow
from validation.vocabulary import Stage, Status


class _ReachedError(BaseException):
    """The stage that killed an earlier worker is about to be entered.

    It is no ``Exception``, so that no handler inside a loader takes it for a fault of its own.
    """


@dataclass(frozen=True)
class Bundling:
    """Runs a cell as ``run_cell`` does, and leaves a bundle of a failure.

    Attributes:
        root: The folder in which bundles lie; absolute.
        limit: Bytes that a bundle may take.
    """

    root: Path
    limit: int = DEFAULT_LIMIT

    def __call__(self, case: Case, target: Any, enter: EnterStage, keep: Keep) -> CheckResult:
        """Run the cell; the arguments are those of ``run_cell``."""
        allow(self.root)

        def finish(trial: Trial, row: CheckResult) -> CheckResult:
            if row.status is Status.FAIL:
                # Writing may end this process as well.
                keep(row)
            return write_bundle(trial, row, self.root, self.limit, keep)

        return run_cell(case, target, enter, keep, finish)

    def after_death(self, row: CheckResult, until: Stage) -> Recording:
        """Give what leaves the bundle of a cell whose worker died.

        Args:
            row: How it ended.
            until: The stage that is not to be entered again.
        """
        return Recording(self.root, self.limit, row, until)


@dataclass(frozen=True)
class Recording:
    """Runs a cell up to a stage only, and leaves a bundle of what there is then.

    Attributes:
        root: The folder in which bundles lie; absolute.
        limit: Bytes that a bundle may take.
        row: How the cell had ended.
        until: The stage that is not entered.
    """

    root: Path
    limit: int
    row: CheckResult
    until: Stage

    def __call__(self, case: Case, target: Any, enter: EnterStage, keep: Keep) -> CheckResult:
        """Give the row of the death, with its bundle; the arguments are those of ``run_cell``."""
        allow(self.root)
        return record(case, target, self.row, self.root, self.limit, self.until, enter, keep)


def record(
    case: Case,
    target: Any,
    row: CheckResult,
    root: Path,
    limit: int,
    until: Stage,
    enter: EnterStage = lambda stage: None,
    keep: Keep = lambda row: None,
) -> CheckResult:
    """Leave the bundle of a cell whose process died, by running it up to the stage that killed it.

    Args:
        case: What was checked.
        target: What it was compiled for.
        row: How it ended.
        root: The folder in which bundles lie; absolute.
        limit: Bytes that a bundle may take.
        until: The stage that is not entered; before ``ENVIRONMENT`` nothing is run at all.
        enter: Called with each stage before it is entered.
        keep: See ``write_bundle``.

    Returns:
        ``row`` with its bundle, or with a note that says why there is none.
    """
    trial = Trial(case, target, framework_named(case.framework))

    def enter_until(stage: Stage) -> None:
        if stage is until:
            raise _ReachedError
        enter(stage)

    def take(reached: Trial, other: CheckResult) -> CheckResult:
        nonlocal trial
        trial = reached
        return other

    if until is not Stage.ENVIRONMENT:
        run_cell(case, target, enter_until, finish=take)
    return write_bundle(trial, row, root, limit, keep)
