"""Run one case through all stages, in the process at hand.

Isolation is not this file's matter: ``validation.isolation`` calls ``run_cell`` in a child process,
and reads the stage that was entered last when the child dies.
"""

from __future__ import annotations

import errno
import math
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import forge
from forge import stages
from forge.compile.binding import bind_arrays
from validation import environment
from validation.case import Case, Sample
from validation.inputs import random_inputs
from validation.judges.allclose import AllClose
from validation.judges.outputs import compare_outputs, proves_nothing
from validation.judges.protocol import Comparison
from validation.latency import measure_in_blocks
from validation.references import framework_named
from validation.references.protocol import Arrays, Framework, Session
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

EnterStage = Callable[[Stage], None]


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


def run_cell(case: Case, target: Any, enter: EnterStage = lambda stage: None) -> CheckResult:
    """Check one case for one target.

    Args:
        case: What to check.
        target: A TVM target, as ``IRModule.compile`` takes it.
        enter: Called with each stage before it is entered.

    Returns:
        The row. Python errors of any stage are verdicts in it, never raised.
    """
    clock = _Clock(enter)
    row = CheckResult(case.id, case.framework, str(target), Status.PASS)
    try:
        clock.enter(Stage.ENVIRONMENT)
        framework = framework_named(case.framework)
        row = row.changed(versions=environment.versions(framework.packages))
        row = _run_stages(case, target, framework, clock, row)
    except _EndedError as end:
        row = row.changed(status=end.status, reason=end.reason, message=end.message)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        row = row.changed(
            status=Status.FAIL,
            reason=_reason_of(error, clock.stage),
            message=_text_of(error),
            stderr=_trace_of(error),
        )
    clock.stop()
    stage = None if row.status is Status.PASS else clock.stage
    return row.changed(stage=stage, stage_seconds=clock.seconds)


def _run_stages(
    case: Case, target: Any, framework: Framework, clock: _Clock, row: CheckResult
) -> CheckResult:
    clock.enter(Stage.BUILD)
    sample = _build(case)
    inputs = _all_inputs(case, framework, sample)

    clock.enter(Stage.REFERENCE)
    try:
        references, native = _reference(case, framework, sample, inputs)
    except Exception:
        _ask_the_loader(case, framework, sample, clock)
        raise
    empty = proves_nothing(references[0])
    if empty:
        raise _EndedError(Status.FAIL, Reason.VACUOUS, f"{empty}; give other inputs")

    with stages.listening(lambda name: clock.enter(Stage(name))):
        ir = framework.load(sample.model, {"fold": case.fold, **sample.options})

    clock.enter(Stage.COMPILE)
    executable = ir.compile(target)
    if not executable.device_exists:
        message = f"compiled for {executable.target}; this machine has no device to run it on"
        raise _EndedError(Status.SKIP, Reason.ENVIRONMENT_ERROR, message)

    clock.enter(Stage.RUN)
    ours = [executable.run(each) for each in inputs]

    clock.enter(Stage.COMPARE)
    comparisons = _compare(case, ours, references)
    history = tuple(_readable(step) for step in ir.history)
    row = _judged(row, history, comparisons)
    if row.status is not Status.PASS or not case.latency or native is None:
        return row

    clock.enter(Stage.LATENCY)
    samples = measure_in_blocks(
        {"native": lambda: native(inputs[0]), "forge": lambda: executable.run(inputs[0])}
    )
    return row.changed(latency=samples)


def _judged(
    row: CheckResult,
    history: tuple[str, ...],
    comparisons: Sequence[Comparison],
) -> CheckResult:
    """Complete a row with what was compared; the first comparison that fails gives its reason."""
    row = row.changed(history=history, comparisons=tuple(comparisons))
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


def _build(case: Case) -> Sample:
    try:
        return case.build()
    except Exception as error:
        # A zoo is known by its protocol alone; with this attribute it says what it cannot have.
        skip_reason = getattr(error, "skip_reason", "")
        if skip_reason:
            raise _EndedError(Status.SKIP, Reason.ENVIRONMENT_ERROR, skip_reason) from error
        raise


def _all_inputs(case: Case, framework: Framework, sample: Sample) -> list[Mapping[str, np.ndarray]]:
    if sample.inputs is not None:
        return [sample.inputs, *sample.extra_inputs]
    specs = framework.inputs(sample.model, sample.options)
    return [random_inputs(specs, case.seed), *sample.extra_inputs]


def _ask_the_loader(case: Case, framework: Framework, sample: Sample, clock: _Clock) -> None:
    """Where the native runtime fails, let a refusal of the loader be the verdict.

    An operator that nobody knows, or inputs that do not fit, fail in both; the runtime says so in
    its own terms, the loader in the user's.
    """
    entered: list[Stage] = []
    try:
        with stages.listening(lambda name: entered.append(Stage(name))):
            framework.load(sample.model, {"fold": case.fold, **sample.options})
    except (forge.InvalidInput, forge.UnsupportedOperator):
        clock.enter(entered[-1] if entered else Stage.LOAD)
        raise
    except Exception:
        return


def _reference(
    case: Case,
    framework: Framework,
    sample: Sample,
    inputs: Sequence[Mapping[str, np.ndarray]],
) -> tuple[list[Arrays], Session | None]:
    if case.reference_outputs is not None:
        return [dict(each) for each in case.reference_outputs], None
    session = framework.session(sample.model, sample.options, case.threads)
    try:
        # Copies: a model that works in place must not change what Forge is given.
        copies = [{name: np.array(array) for name, array in each.items()} for each in inputs]
        return [session(each) for each in copies], session
    except Exception:
        # Native runtimes say in their own ways that inputs do not fit; Forge says it in one.
        _refuse_unfit(framework, sample, inputs)
        raise


def _refuse_unfit(
    framework: Framework, sample: Sample, inputs: Sequence[Mapping[str, np.ndarray]]
) -> None:
    try:
        specs = framework.inputs(sample.model, sample.options)
    except Exception:
        return
    for each in inputs:
        bind_arrays(specs, each)


def _compare(
    case: Case, ours: Sequence[Arrays], references: Sequence[Mapping[str, np.ndarray]]
) -> list[Comparison]:
    judge = AllClose(case.rtol, case.atol)
    if case.reference_outputs is not None:
        # Given by name, in whatever order their file has them.
        references = [
            {name: theirs[name] for name in mine} if set(mine) == set(theirs) else theirs
            for mine, theirs in zip(ours, references, strict=True)
        ]
    return [
        comparison
        for mine, theirs in zip(ours, references, strict=True)
        for comparison in compare_outputs(mine, theirs, judge)
    ]


_REASON_OF_STAGE = {
    Stage.ENVIRONMENT: Reason.ENVIRONMENT_ERROR,
    Stage.BUILD: Reason.ENVIRONMENT_ERROR,
    Stage.REFERENCE: Reason.REFERENCE_ERROR,
    Stage.LOAD: Reason.FRONTEND_ERROR,
    Stage.FOLD: Reason.FOLD_ERROR,
    Stage.COMPILE: Reason.COMPILE_ERROR,
    Stage.RUN: Reason.RUN_ERROR,
    Stage.COMPARE: Reason.ENVIRONMENT_ERROR,
    Stage.LATENCY: Reason.RUN_ERROR,
}
_REASON_OF_ERROR: tuple[tuple[type[BaseException], Reason], ...] = (
    (MemoryError, Reason.OUT_OF_MEMORY),
    (forge.MissingFramework, Reason.MISSING_FRAMEWORK),
    (forge.UnsupportedOperator, Reason.UNSUPPORTED_OPERATOR),
    (forge.InvalidInput, Reason.INVALID_INPUT),
    (forge.LoadError, Reason.FRONTEND_ERROR),
    (forge.FoldError, Reason.FOLD_ERROR),
    (forge.CompileError, Reason.COMPILE_ERROR),
    (forge.RunError, Reason.RUN_ERROR),
)


def _reason_of(error: BaseException, stage: Stage) -> Reason:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Reason.DISK_FULL
    for kind, reason in _REASON_OF_ERROR:
        if isinstance(error, kind):
            return reason
    return _REASON_OF_STAGE[stage]


def _text_of(error: BaseException) -> str:
    return str(error) if isinstance(error, forge.ForgeError) else f"{type(error).__name__}: {error}"


def _trace_of(error: BaseException, count: int = 15) -> str:
    """Give the last lines of a traceback; none for an error that says it all."""
    if isinstance(error, (forge.InvalidInput, forge.MissingFramework, forge.UnsupportedOperator)):
        return ""
    return "\n".join("".join(traceback.format_exception(error)).rstrip().splitlines()[-count:])


def _readable(step: forge.Step) -> str:
    return f"{step.name}: {step.count} ({'; '.join(step.details) or step.reason})"
