"""Run one case through all stages, in the process at hand.

Isolation is not this file's matter: ``validation.isolation`` calls ``run_cell`` in a child process,
and reads the stage that was entered last when the child dies.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import forge
from forge import stages
from forge.compile.binding import bind_arrays
from validation import environment
from validation.blame.diagnosis import diagnose
from validation.blame.failed_reference import diagnose_failed_reference
from validation.blame.stages import with_blame
from validation.case import Case, Sample
from validation.inputs import integer_limits, make_inputs
from validation.judges.protocol import Comparison
from validation.judges.vacuity import does_not_react, proves_nothing
from validation.judging import Judging
from validation.latency import measure_in_blocks
from validation.reasons import reason_of, text_of, trace_of
from validation.references import framework_named
from validation.references.protocol import Arrays, Framework
from validation.result import CheckResult
from validation.trial import Trial, copies
from validation.vocabulary import Blame, Reason, Stage, Status

EnterStage = Callable[[Stage], None]
Keep = Callable[[CheckResult], None]
Finish = Callable[[Trial, CheckResult], CheckResult]


class _EndedError(Exception):
    """The cell ended before its last stage, with a verdict."""

    def __init__(self, status: Status, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message


class _Clock:
    """Knows the current stage and how long each took."""

    def __init__(self, enter: EnterStage) -> None:
        self._enter = enter
        self._since = time.perf_counter()
        self.stage = Stage.ENVIRONMENT
        self.seconds: dict[str, float] = {}

    def enter(self, stage: Stage) -> None:
        self.stop()
        self.stage = stage
        self._enter(stage)

    def stop(self) -> None:
        now = time.perf_counter()
        spent = self.seconds.get(self.stage.value, 0.0)
        self.seconds[self.stage.value] = spent + now - self._since
        self._since = now


def run_cell(
    case: Case,
    target: Any,
    enter: EnterStage = lambda stage: None,
    keep: Keep = lambda row: None,
    finish: Finish = lambda trial, row: row,
    framework: Framework | None = None,
) -> CheckResult:
    """Check one case for one target.

    Args:
        case: What to check.
        target: A TVM target, as ``IRModule.compile`` takes it.
        enter: Called with each stage before it is entered.
        keep: Called with a row that already holds the verdict, before something that may end
            this process is done to explain it: that row counts if no better one follows.
        finish: Called last, with all that the cell made and its row; gives the row to return.
        framework: What stands in for the case's framework, as when a stored IR is its model.

    Returns:
        The row. Python errors of any stage are verdicts in it, never raised.
    """
    clock = _Clock(enter)
    row = CheckResult(
        case.id,
        case.framework,
        str(target),
        Status.PASS,
        environment={"processor": environment.processor(), "threads": str(case.threads)},
    )
    trial: Trial | None = None
    try:
        clock.enter(Stage.ENVIRONMENT)
        framework = framework or framework_named(case.framework)
        row = row.changed(versions=environment.versions(framework.packages))
        trial = Trial(case, target, framework)
        row = _run_stages(trial, clock, row, keep)
    except _EndedError as end:
        row = row.changed(status=end.status, reason=end.reason, message=end.message)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        row = row.changed(
            status=Status.FAIL,
            reason=reason_of(error, clock.stage),
            message=text_of(error),
            stderr=trace_of(error),
        )
    clock.stop()
    if row.status is not Status.PASS and row.stage is None:
        row = row.changed(stage=clock.stage)
    row = with_blame(row.changed(stage_seconds=clock.seconds))
    return finish(trial, row) if trial is not None else row


def _run_stages(trial: Trial, clock: _Clock, row: CheckResult, keep: Keep) -> CheckResult:
    case = trial.case
    clock.enter(Stage.BUILD)
    trial.sample = _build(case)
    trial.inputs = _choose_inputs(case, trial.framework, trial.sample)

    clock.enter(Stage.REFERENCE)
    try:
        _run_reference(trial)
    except Exception as error:
        return _without_reference(trial, clock, row, error, keep)
    row = row.changed(notes=_vacuous_parts(trial))

    with stages.listening(lambda name: clock.enter(Stage(name))):
        trial.ir = trial.load()

    clock.enter(Stage.COMPILE)
    trial.executable = trial.ir.compile(trial.target)
    if not trial.executable.device_exists:
        message = f"compiled for {trial.executable.target}; this machine has no device to run it on"
        raise _EndedError(Status.SKIP, Reason.ENVIRONMENT_ERROR, message)

    clock.enter(Stage.RUN)
    trial.ours = [trial.executable.run(each) for each in trial.inputs]

    clock.enter(Stage.COMPARE)
    row = _compare(trial, row.changed(history=tuple(map(_readable, trial.ir.history))), clock, keep)
    session = trial.session
    if row.status is not Status.PASS or not case.latency or session is None:
        return row

    clock.enter(Stage.LATENCY)
    first, run = trial.inputs[0], trial.executable.run
    samples = measure_in_blocks({"native": lambda: session(first), "forge": lambda: run(first)})
    return row.changed(latency=samples)


def _build(case: Case) -> Sample:
    try:
        return case.build()
    except Exception as error:
        # A zoo is known by its protocol alone; with this attribute it says what it cannot have.
        skip_reason = getattr(error, "skip_reason", "")
        if skip_reason:
            raise _EndedError(Status.SKIP, Reason.ENVIRONMENT_ERROR, skip_reason) from error
        raise


def _choose_inputs(
    case: Case, framework: Framework, sample: Sample
) -> list[Mapping[str, np.ndarray]]:
    if sample.inputs is not None:
        return [sample.inputs, *sample.extra_inputs]
    specs = framework.inputs(sample.model, sample.options)
    limits = integer_limits(framework.name, sample.model, sample.options)
    return [*make_inputs(case.plan, specs, limits), *sample.extra_inputs]


def _run_reference(trial: Trial) -> None:
    case = trial.case
    if case.reference_outputs is not None:
        trial.references = [dict(each) for each in case.reference_outputs]
        if len(trial.references) != len(trial.inputs):
            raise forge.InvalidInput(
                f"{len(trial.references)} sets of outputs are given for {len(trial.inputs)} sets "
                "of inputs.",
                hint="give one each",
            )
        return
    trial.session = trial.native_session()
    trial.references = [trial.session(copies(each)) for each in trial.inputs]


def _without_reference(
    trial: Trial, clock: _Clock, row: CheckResult, error: Exception, keep: Keep
) -> CheckResult:
    """Make the row of a cell whose native runtime fails: Forge may have a better word.

    An operator that nobody knows, or inputs that do not fit, fail in both; the runtime says so in
    its own terms, Forge in the user's.
    """
    row = row.changed(
        status=Status.FAIL,
        stage=Stage.REFERENCE,
        reason=reason_of(error, Stage.REFERENCE),
        blame=Blame.UNKNOWN,
        message=text_of(error),
        stderr=trace_of(error),
    )
    if row.reason is not Reason.REFERENCE_ERROR:
        return row.changed(blame=None)
    keep(row)
    _refuse_unfit(trial)
    entered = [Stage.LOAD]
    try:
        with stages.listening(lambda name: entered.append(Stage(name))):
            trial.ir = trial.load()
    except (forge.InvalidInput, forge.UnsupportedOperator):
        clock.enter(entered[-1])
        raise
    except Exception as unloadable:
        row = row.changed(evidence=(f"Forge cannot load it either: {text_of(unloadable)}",))
    return diagnose_failed_reference(trial, row)


def _refuse_unfit(trial: Trial) -> None:
    try:
        specs = trial.framework.inputs(trial.built.model, trial.built.options)
    except Exception:
        return
    for each in trial.inputs:
        bind_arrays(specs, each)


def _vacuous_parts(trial: Trial) -> tuple[str, ...]:
    """Name what in the reference shows no fault; end the cell where nothing in it does."""
    empty = proves_nothing(trial.references[0])
    if empty:
        raise _EndedError(Status.FAIL, Reason.VACUOUS, f"{empty}; give other inputs")
    if trial.session is None:
        return ()
    seed = trial.case.plan.seed
    first, *others = trial.references
    reaction = does_not_react(trial.session, trial.inputs[0], first, seed, others)
    if reaction.vacuous:
        raise _EndedError(Status.FAIL, Reason.VACUOUS, f"{reaction.vacuous}; give other inputs")
    return reaction.notes


def _compare(trial: Trial, row: CheckResult, clock: _Clock, keep: Keep) -> CheckResult:
    if trial.case.reference_outputs is not None:
        trial.references = _in_our_order(trial.ours, trial.references)
    judging = Judging(trial)
    found = judging.compare_all(trial.ours, trial.references)
    judged = _judged(row, found)
    if judged.reason is Reason.WRONG_VALUES:
        # A float64 run may clear it, and may end this process.
        keep(with_blame(judged.changed(stage=Stage.COMPARE)))
    if judged.reason in (None, Reason.WRONG_VALUES):
        found = judging.compare_all(trial.ours, trial.references, float64=True)
        judged = _judged(row, found)
    row = judged
    if row.status is Status.PASS:
        return row
    row = row.changed(stage=Stage.COMPARE)
    keep(with_blame(row))
    try:
        return diagnose(trial, row, judging)
    except Exception as error:
        # The verdict stands, whatever becomes of its explanation.
        return row.changed(evidence=(f"the diagnosis failed: {text_of(error)}",))


def _in_our_order(ours: Sequence[Arrays], given: Sequence[Arrays]) -> list[Arrays]:
    """Sort results that were given by name, in whatever order their file has them."""
    return [
        {name: theirs[name] for name in mine} if set(mine) == set(theirs) else theirs
        for mine, theirs in zip(ours, given, strict=True)
    ]


def _judged(row: CheckResult, comparisons: Sequence[Comparison]) -> CheckResult:
    """Complete a row with what was compared; the first comparison that fails gives its reason."""
    row = row.changed(comparisons=tuple(comparisons))
    failed = [c for c in comparisons if not c]
    if not failed:
        return row
    first = failed[0]
    text = f"output {first.output}: {first.message}"
    if first.reason is Reason.WRONG_VALUES:
        text += (
            f"; worst at {list(first.worst_index)}: {first.worst_ours:.9g}, "
            f"reference {first.worst_reference:.9g}"
        )
        if math.isfinite(first.needed_atol):
            text += f"; would pass at atol={first.needed_atol:.3g}"
    return row.changed(status=Status.FAIL, reason=first.reason, message=text)


def _readable(step: forge.Step) -> str:
    return f"{step.name}: {step.count} ({'; '.join(step.details) or step.reason})"
