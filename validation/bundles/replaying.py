"""Replay a bundle in a worker and compare the verdict with the recorded one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from forge import InvalidInput
from forge.frameworks import require
from validation.blame.words import difference
from validation.bundles import layout, machine
from validation.bundles.case_fields import case_of_fields
from validation.bundles.opening import BundledSample, refuse_code
from validation.bundles.reading import Bundle, read_bundle, untrusted
from validation.bundles.stored_ir import WithoutModel, case_without_model
from validation.bundles.verdict import Verdict, verdict_of
from validation.case import Case
from validation.cell import EnterStage, Keep, run_cell
from validation.isolation import WorkerPool
from validation.judges.allclose import AllClose
from validation.judges.outputs import compare_outputs
from validation.judges.protocol import Context
from validation.matrix import missing_modules
from validation.references import framework_named
from validation.references.protocol import Arrays
from validation.result import CheckResult
from validation.trial import Trial
from validation.vocabulary import Reason, Stage, Status

_WITHOUT_FRAMEWORK = ("tvm", "tvm.relax", "numpy", "validation.cell")


@dataclass(frozen=True)
class Replay:
    """What came of replaying a bundle.

    Attributes:
        expected: The recorded verdict.
        row: How the cell ended now.
        changes: In which words its verdict differs, a line a word; none where it is the same.
        environment: How the environment differs from the recorded one, a line a fact.
    """

    expected: Verdict
    row: CheckResult
    changes: tuple[str, ...]
    environment: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """Say it in two words."""
        if not self.changes:
            return "same verdict"
        if self.row.status is Status.PASS:
            return "passes now"
        return "not run" if self.row.status is Status.SKIP else "another verdict"


def replay(
    folder: Path,
    target: Any = None,
    *,
    trust: bool = False,
    without_model: bool = False,
    latency: bool | None = None,
) -> Replay:
    """Run the cell of a bundle again, in a child process.

    Args:
        folder: The bundle.
        target: Another target than the recorded one.
        trust: What is pickled in it may be opened, and code in its model may run.
        without_model: Compile the stored IR and compare it with the stored reference, needing no
            framework. Blame is then not compared.
        latency: Measure latencies if it passes; None does as the recorded cell did.

    Raises:
        InvalidInput: The bundle is damaged, hostile or of a newer schema; its model is not there,
            or cannot be opened here; or it needs ``trust``.
    """
    bundle = read_bundle(folder)
    recorded = bundle.environment()
    expected = bundle.manifest.expected
    fields = {} if latency is None else {"latency": latency}
    if target is None:
        target = bundle.manifest.target
    threads = bundle.manifest.case["threads"]
    packages = framework_named(bundle.manifest.case["framework"]).packages
    if without_model:
        case = case_without_model(bundle)
        with WorkerPool(threads=threads, modules=lambda framework: _WITHOUT_FRAMEWORK) as pool:
            row = pool.submit(case, target, WithoutModel(bundle.folder)).result()
    else:
        _refuse(bundle, trust)
        case = _case(bundle, trust, fields)
        with WorkerPool(threads=threads) as pool:
            row = pool.submit(case, target, Replaying(bundle.folder)).result()
        _refuse_unopened(bundle, row)
    # Without the model there is nobody to ask whether the reference was right.
    compared = row.changed(blame=expected.blame) if without_model and row.blame else row
    return Replay(
        expected,
        row,
        tuple(expected.changes(verdict_of(compared))),
        tuple(machine.differences(recorded, machine.describe(packages))),
    )


@dataclass(frozen=True)
class Replaying:
    """Runs a cell as ``run_cell`` does, and compares its reference with that of a bundle.

    Attributes:
        folder: The bundle's.
    """

    folder: Path

    def __call__(self, case: Case, target: Any, enter: EnterStage, keep: Keep) -> CheckResult:
        """Run the cell; the arguments are those of ``run_cell``."""
        return run_cell(case, target, enter, keep, self._finish)

    def _finish(self, trial: Trial, row: CheckResult) -> CheckResult:
        if trial.session is None or not trial.references:
            return row
        recorded = read_bundle(self.folder).samples(layout.REFERENCE)
        notes = [
            f"the reference gives other values than when the bundle was made, sample {sample}: "
            f"{text}"
            for sample, (now, then) in enumerate(zip(trial.references, recorded))
            if (text := _difference(now, then))
        ]
        return row.changed(notes=(*row.notes, *notes))


def _difference(now: Arrays, then: Arrays) -> str:
    same = list(now) == list(then) and all(
        now[name].dtype == then[name].dtype
        and now[name].shape == then[name].shape
        and now[name].tobytes() == then[name].tobytes()
        for name in now
    )
    if same:
        return ""
    judge = AllClose(None, None)
    return difference(compare_outputs(now, then, lambda *_: judge, lambda _: Context()))


def _case(bundle: Bundle, trust: bool, fields: dict[str, Any]) -> Case:
    manifest = bundle.manifest
    given: tuple[dict[str, np.ndarray], ...] | None = None
    if manifest.case["given"]:
        given = tuple(bundle.samples(layout.REFERENCE))
        for name, reason in manifest.left_out.items():
            if name.startswith(f"{layout.REFERENCE}/"):
                raise InvalidInput(
                    f"{str(bundle.folder)!r} lacks outputs that were given to compare with: "
                    f"{reason}."
                )
    build = BundledSample(bundle.folder, trust)
    return case_of_fields(manifest.case, build=build, reference_outputs=given, **fields)


def _refuse(bundle: Bundle, trust: bool) -> None:
    refuse_code(bundle, trust)
    manifest = bundle.manifest
    if manifest.trusted and manifest.expected.stage is Stage.BUILD and not trust:
        raise untrusted(f"the model in {str(bundle.folder)!r} had been opened with trust", bundle)
    missing = missing_modules(manifest.case["framework"])
    if missing:
        require(missing[0], "replaying this bundle")


def _refuse_unopened(bundle: Bundle, row: CheckResult) -> None:
    """Tell a model that cannot be had here from one that fails.

    Raises:
        InvalidInput: The recorded cell had come further than this one, which has no model.
    """
    died = row.reason in (Reason.CRASH, Reason.TIMEOUT, Reason.OUT_OF_MEMORY)
    if row.stage is not Stage.BUILD or row.status is not Status.FAIL or died:
        return
    if bundle.manifest.expected.stage not in (Stage.ENVIRONMENT, Stage.BUILD):
        hint = "--without-model needs no model" if bundle.has(layout.FOLDED) else None
        raise InvalidInput(f"the model of the bundle cannot be opened here: {row.message}", hint)
